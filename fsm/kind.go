package fsm

import "strings"

// KindOf returns how the action of a state is carried out.
func KindOf(st *State) Kind {
	if x := st.Extension; x != nil {
		if x.Host != "" {
			return KindPrompt
		}
		return KindProgram
	}
	switch st.ActionType {
	case "contract":
		return KindContract
	case "http":
		return KindHTTP
	case "mcp_tool":
		return KindMCP
	case "prompt", "slash_command":
		return KindPrompt
	case "shell":
		return KindShell
	}
	if strings.HasPrefix(st.Action, "/") {
		return KindPrompt
	}
	return KindShell
}
