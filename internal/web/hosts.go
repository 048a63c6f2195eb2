package web

import (
	"net"
	"os"
)

// HostsOf returns the values of the header Host for which a server answers: first the one of the address that
// is printed. anyIP is its port where each address of this machine is meant.
func HostsOf(listening, host string, more []string) (hosts []string, anyIP string) {
	_, port, _ := net.SplitHostPort(listening)
	ip := net.ParseIP(host)
	switch {
	case IsLoopback(host):
		hosts = []string{
			listening, net.JoinHostPort("localhost", port), net.JoinHostPort("127.0.0.1", port),
			net.JoinHostPort("::1", port),
		}
	case host == "" || ip != nil && ip.IsUnspecified():
		anyIP = port
		name, _ := os.Hostname()
		hosts = []string{
			net.JoinHostPort("127.0.0.1", port), net.JoinHostPort("localhost", port),
			net.JoinHostPort(name, port),
		}
	default:
		hosts = []string{net.JoinHostPort(host, port), listening}
	}
	return append(hosts, more...), anyIP
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
