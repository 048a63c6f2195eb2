package config

import (
	"gopkg.in/yaml.v3"

	"loops/internal/humanize"
)

// Values of dispatch.accept.
const (
	AcceptCheckout = "checkout" // a worker runs loops of its own checkout alone
	AcceptSigned   = "signed"   // and definitions that came with a run, if one of the keys signed them
)

// Accept says which definitions a worker runs.
type Accept struct {
	Mode string   // AcceptCheckout or AcceptSigned; "" = checkout
	Keys []string // public keys of ed25519, as [PublicKey] writes them
}

// acceptKeys reads public keys, which take the place of those of lower files.
func (d *decoder) acceptKeys(n *yaml.Node, c *Config) {
	c.Accept.Keys = nil
	d.each(n, func(n *yaml.Node) {
		if err := CheckKey(n.Value); err != nil {
			d.say(n, "%s in keys: %s", humanize.Quote(n.Value), err)
		}
	})
	c.Accept.Keys = d.texts(n, "keys")
}
