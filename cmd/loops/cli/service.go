package cli

import (
	"loops/internal/app"
	"loops/internal/terminal"
)

// service returns what answers for the project of this command line. The caller closes it.
func (a *program) service() (*app.Service, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	return &app.Service{Project: p, Page: a.page(), Engine: a.engine, Note: a.note}, nil
}

// ask calls f with a service, which is closed after that.
func (a *program) ask(f func(s *app.Service) error) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// note says something beside the answer.
func (a *program) note(format string, args ...any) {
	terminal.Say(a.Err, "loops: "+format+"\n", args...)
}
