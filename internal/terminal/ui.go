package terminal
