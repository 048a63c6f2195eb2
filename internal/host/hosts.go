package host

// hosts are looked for in PATH in this order, which is the reference tool's where both know a host.
var hosts = []*Host{claude, codex, gemini, kimi, qwen, opencode}
