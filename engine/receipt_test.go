package engine

import (
	"path/filepath"
	"testing"

	"loops/fsm"
	"loops/internal/config"
	"loops/internal/testenv"
)

// What was changed in a receipt after it was signed is found out, whatever it is.
func TestReceiptForged(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	_, err := config.NewKey(filepath.Join(home, "loops", "signing.key"))
	testenv.Must(t, err)
	e := &Engine{o: Options{Env: []string{"XDG_CONFIG_HOME=" + home}}}
	signed := func() *fsm.Receipt {
		r := &fsm.Receipt{
			Run: "r", Loop: "l", Tree: "t", CostUSD: 0.1,
			Checks: []fsm.CheckResult{{State: "s", Verdict: "yes", Output: "o"}},
		}
		testenv.Must(t, e.sign(r))
		return r
	}
	for name, change := range map[string]func(*fsm.Receipt){
		"nothing": func(*fsm.Receipt) {}, "tree": func(r *fsm.Receipt) { r.Tree = "u" },
		"verdict": func(r *fsm.Receipt) { r.Checks[0].Verdict = "no" },
		"run":     func(r *fsm.Receipt) { r.Run = "other" }, "cost": func(r *fsm.Receipt) { r.CostUSD = 0.2 },
		"key":       func(r *fsm.Receipt) { r.Key = "ed25519:x" },
		"signature": func(r *fsm.Receipt) { r.Signature = "x" }, "checks": func(r *fsm.Receipt) { r.Checks = nil },
	} {
		r := signed()
		change(r)
		want := SignedForged
		if name == "nothing" {
			want = SignedAccepted
		}
		if got := e.signatureOf(r, nil); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if err := (&RunReceipt{Receipt: r, Signed: want}).Forged(); (err != nil) != (want == SignedForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// the signature of a definition is none of a receipt
	r := signed()
	key, err := config.ReadKey(config.KeyFile(e.getenv))
	testenv.Must(t, err)
	text, err := signedText(r)
	testenv.Must(t, err)
	if r.Signature = config.Sign(key, text).Value; e.signatureOf(r, nil) != SignedForged {
		t.Error("the signature of a definition is taken for one of a receipt")
	}
	other := &Engine{o: Options{Env: []string{}}}
	if got := other.signatureOf(signed(), nil); got != SignedUnknown {
		t.Errorf("without the key: %s", got)
	}
	if got := other.signatureOf(signed(), []string{config.PublicKey(key)}); got != SignedAccepted {
		t.Errorf("with dispatch.keys: %s", got)
	}
}
