package engine

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"loops/fsm"
	"loops/internal/config"
	"loops/internal/git"
	"loops/internal/humanize"
	"loops/internal/inspect"
	"loops/persistence"
)

// receipt fits fsm.World.Receipt.
func (e *Engine) receipt(j *job, r *Run, c *checks) func(context.Context, fsm.Spent, []fsm.Event) *fsm.Receipt {
	return func(ctx context.Context, spent fsm.Spent, pending []fsm.Event) *fsm.Receipt {
		ctx, done := beyondStop(ctx)
		defer done()
		receipt := &fsm.Receipt{
			Run: string(r.id), Loop: j.loop.Name, Definition: j.loop.SHA256,
			Completed: time.Now().UTC().Format(time.RFC3339),
			Prompts:   spent.Prompts, Tokens: spent.Usage.Total(), CostUSD: spent.CostUSD, Unpriced: spent.Unpriced,
			Guard: plainText(guardLine(j.loop)), Sandbox: plainText(j.header.Sandbox),
		}
		if u := spent.Unsure; spent.Unpriced > 0 && u.Bounded == spent.Unpriced {
			receipt.MostUSD = spent.CostUSD + u.USD
		}
		var err error
		receipt.Checks, err = inspect.Deciding(c.any, readOutput, func(each func(fsm.Event) bool) error {
			for i := len(pending) - 1; i >= 0; i-- {
				if !each(pending[i]) {
					return nil
				}
			}
			return j.store.Newest(ctx, r.id, each)
		})
		if errors.Is(err, persistence.ErrNotFound) { // nothing is recorded yet
			err = nil
		}
		if receipt.Checks == nil {
			receipt.Checks = []fsm.CheckResult{}
		}
		keep, _ := j.keepsSnapshots()
		left := c.left(ctx, receipt, keep || spent.Prompts > 0 || c.any || guarded(j.loop))
		unsigned := e.sign(receipt)
		for _, problem := range []error{err, left, unsigned} {
			if problem != nil {
				j.tell(Said{
					Run:  r.id,
					Text: textf("The receipt of the run is not whole: %s", humanize.OneLine(problem)), Problem: true,
				})
			}
		}
		return receipt
	}
}

// readOutput reads a file with a long output.
func readOutput(file string) (string, error) {
	text, err := os.ReadFile(file)
	return string(text), err
}

// plainText is a text without the looks that a face gives it.
func plainText(t Text) string { return t.With(func(arg any) any { return arg }) }

// left names the files as the run leaves them, and keeps them. Those of a run of scripts alone, which nothing
// depends on, are not named: the walk takes longer than such a run.
func (c *checks) left(ctx context.Context, r *fsm.Receipt, keep bool) error {
	w := c.folders.of("")
	if !keep || !w.InRepository() {
		return nil
	}
	tree, err := w.Tree(ctx)
	if errors.Is(err, git.ErrNoGit) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Tree = tree
	_, err = w.Keep(ctx, git.ProofRef(string(c.folders.id), git.AtEnd), tree,
		proofMessage(c.folders.id, "Files that a run left"))
	r.Kept = err == nil
	return err
}

// signedText is what the signature of a receipt is of.
func signedText(r *fsm.Receipt) ([]byte, error) {
	bare := *r
	bare.Key, bare.Signature = "", ""
	return json.Marshal(bare)
}

// sign signs a receipt where the user has a key.
func (e *Engine) sign(r *fsm.Receipt) error {
	file := config.KeyFile(e.getenv)
	if file == "" {
		return nil
	}
	var key ed25519.PrivateKey
	key, err := config.ReadKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var text []byte
	if err == nil {
		text, err = signedText(r)
	}
	if err != nil {
		return errors.New("it is not signed, because of the key in " + file + ": " + err.Error())
	}
	s := config.SignReceipt(key, text)
	r.Key, r.Signature = s.Key, s.Value
	return nil
}

// What is known of the signature of a receipt.
const (
	SignedNot      = "none"
	SignedForged   = "forged"   // it is not of this receipt
	SignedUnknown  = "unknown"  // by a key that is neither that of the user nor among dispatch.keys
	SignedAccepted = "accepted" // by one of these
)

// A RunReceipt is the receipt of a run.
type RunReceipt struct {
	Run     persistence.Run
	Receipt *fsm.Receipt // nil = the run has none: it did not complete, or a version of loops carried it that made none
	Signed  string       // one of those above
}

// Forged returns a refusal where the signature of a receipt is not of it.
func (r *RunReceipt) Forged() error {
	if r.Signed != SignedForged {
		return nil
	}
	return refuse(Invalid, "the signature of the receipt of run %s is not of this receipt: it was changed after "+
		"it was signed", r.Run.ID)
}

// Receipt returns the receipt of a run.
func (e *Engine) Receipt(ctx context.Context, id string) (*RunReceipt, error) {
	if err := unnamed(id); err != nil {
		return nil, err
	}
	store, err := e.records(ctx, false, "")
	if err != nil {
		return nil, err
	}
	run, err := store.Finder().One(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := store.Snapshot(ctx, run.ID)
	if err != nil {
		return nil, store.Failed(err)
	}
	r := &RunReceipt{Run: run, Signed: SignedNot}
	if m != nil && m.Outcome != nil {
		r.Receipt = m.Outcome.Receipt
	}
	if r.Receipt != nil && r.Receipt.Signature != "" {
		var keys []string
		if conf, err := e.p.Config(); err == nil {
			keys = conf.Accept.Keys
		}
		r.Signed = e.signatureOf(r.Receipt, keys)
	}
	return r, nil
}

// signatureOf returns what is known of the signature of a receipt. Accepted are these keys and that of the user.
func (e *Engine) signatureOf(r *fsm.Receipt, keys []string) string {
	if file := config.KeyFile(e.getenv); file != "" {
		if key, err := config.ReadKey(file); err == nil {
			keys = append(slices.Clip(keys), config.PublicKey(key))
		}
	}
	text, err := signedText(r)
	if err == nil {
		err = config.Signature{Key: r.Key, Value: r.Signature}.VerifyReceipt(text, keys)
	}
	switch {
	case err == nil:
		return SignedAccepted
	case errors.Is(err, config.ErrUnknown):
		return SignedUnknown
	}
	return SignedForged
}
