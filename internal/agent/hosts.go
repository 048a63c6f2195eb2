package agent

// hosts are looked for in PATH in this order, which is little-loops' where both know a host.
var hosts = []*CLI{claude, codex, gemini, kimi, qwen, opencode}
