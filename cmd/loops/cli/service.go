package cli

import (
	"loops/internal/service"
	"loops/internal/ui"
)

// service returns what answers for the project of this command line. The caller closes it.
func (a *app) service() (*service.Service, error) {
	p, err := a.project()
	if err != nil {
		return nil, err
	}
	return &service.Service{Project: p, Page: a.page(), Engine: a.engine, Note: a.note}, nil
}

// ask calls f with a service, which is closed after that.
func (a *app) ask(f func(s *service.Service) error) error {
	s, err := a.service()
	if err != nil {
		return err
	}
	defer s.Close()
	return f(s)
}

// note says something beside the answer.
func (a *app) note(format string, args ...any) { ui.Say(a.Err, "loops: "+format+"\n", args...) }
