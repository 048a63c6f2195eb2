package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"loops/persistence"
)

// The roles of a database. They have no login: users are made members of them.
const (
	RoleWorker = "loops_worker" // records runs: the tables, but not who may submit
	RoleSubmit = "loops_submit" // submits runs to queues that it is allowed, by a function, and reads nothing
	RoleRead   = "loops_read"   // reads views of runs, queues and workers, and nothing of what runs printed or remember
)

// An Allowance lets a user of the database submit runs to a queue, "*" = to any.
type Allowance struct{ Queue, User string }

// rolesSQL makes the roles, or brings them up to date. A function and views have the rights of their owner, who
// is the owner of the tables; the function finds nothing but the schema of the tables under any name that it
// uses.
const rolesSQL = `DO $$ DECLARE r text; BEGIN
	FOREACH r IN ARRAY ARRAY['loops_worker', 'loops_submit', 'loops_read'] LOOP
		IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = r)
			THEN EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', r); END IF;
	END LOOP;
END $$;
--
REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC;
--
CREATE TABLE IF NOT EXISTS {schema}.submitters (queue text NOT NULL, member text NOT NULL, PRIMARY KEY (queue, member));
--
CREATE OR REPLACE FUNCTION {schema}.loops_submit(ids text[], run_ids text[], run jsonb, about text, definition bytea,
	names text[], bodies bytea[], memory text, job jsonb)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER SET search_path = {schema}, pg_temp AS $$
DECLARE
	made bigint;
	digest text := coalesce(encode(sha256(definition), 'hex'), '');
BEGIN
	IF NOT EXISTS (SELECT FROM submitters s WHERE s.queue IN (job->>'queue', '*') AND s.member = session_user) THEN
		RAISE EXCEPTION 'user % may not submit to queue %', session_user, job->>'queue' USING ERRCODE = '42501';
	END IF;
	IF EXISTS (SELECT FROM jsonb_object_keys(about::jsonb) k WHERE k NOT IN ('state', 'step', 'passes', 'elapsed_ns',
		'file', 'sha256', 'max_steps', 'options', 'crc'))
		OR (job->>'hash') !~ '^[0-9a-f]{64}$' OR ((job->>'request')::jsonb->>'hash') IS DISTINCT FROM job->>'hash' THEN
		RAISE EXCEPTION 'this is no run that begins' USING ERRCODE = '22023';
	END IF;
	PERFORM pg_advisory_xact_lock(hashtextextended('loops ' || current_schema(), 0));
	FOR i IN 1 .. cardinality(ids) LOOP
		IF ids[i] !~ '^[^./\\[:cntrl:]][^/\\[:cntrl:]]*-[0-9]{8}T[0-9]{6}$'
			OR replace(replace(run_ids[i], '-', ''), ':', '') <> right(ids[i], 15) THEN
			RAISE EXCEPTION 'this is no id of a run' USING ERRCODE = '22023';
		END IF;
		CONTINUE WHEN EXISTS (SELECT FROM runs r WHERE r.id = ids[i] OR r.loop = run->>'loop' AND r.run_id = run_ids[i])
			OR EXISTS (SELECT FROM removals r WHERE r.loop = run->>'loop' AND r.run_id = run_ids[i]);
		IF definition IS NOT NULL THEN
			INSERT INTO definitions (hash, body) VALUES (digest, definition) ON CONFLICT DO NOTHING;
		END IF;
		INSERT INTO runs (id, loop, run_id, started_at, updated_at, status, archived, seq, whole, epoch, definition,
			about)
			VALUES (ids[i], run->>'loop', run_ids[i], (run->>'started_at')::bigint, {now}, 'queued', 0, 0, 0, 0,
				digest, loops_submit.about) RETURNING n INTO made;
		INSERT INTO texts (run, name, body) SELECT made, x.name, x.body FROM unnest(names, bodies) AS x (name, body)
			ON CONFLICT DO NOTHING;
		INSERT INTO memory (run, seq, patch, whole) VALUES (made, 0, NULL, loops_submit.memory);
		INSERT INTO placements (run, queue, key, priority, at, labels, files, hash, request, submitted_at, open,
			tries, note)
			VALUES (made, job->>'queue', job->>'key', (job->>'priority')::bigint, (job->>'at')::bigint,
				job->>'labels', job->>'files', job->>'hash', job->>'request', {now}, 1, 0, '');
		RETURN ids[i];
	END LOOP;
	RAISE EXCEPTION 'all ids are taken' USING ERRCODE = '23505';
END $$;
--
CREATE OR REPLACE VIEW {schema}.loops_runs AS SELECT r.id, r.loop, r.status, (r.about::json)->>'state' AS state,
	((r.about::json)->>'step')::bigint AS step,
	to_timestamp(r.started_at / 1000000.0) AS started_at, to_timestamp(r.updated_at / 1000.0) AS updated_at,
	p.queue, p.key, p.priority, p.labels, p.tries, l.until IS NOT NULL AND l.until > {now} AS owned
	FROM {schema}.runs r LEFT JOIN {schema}.placements p ON p.run = r.n LEFT JOIN {schema}.leases l ON l.run = r.n
		WHERE r.about LIKE '{%';
--
CREATE OR REPLACE VIEW {schema}.loops_queues AS SELECT queue, status, count(*) AS runs FROM {schema}.loops_runs
	WHERE queue IS NOT NULL GROUP BY queue, status;
--
CREATE OR REPLACE VIEW {schema}.loops_workers AS SELECT w.id, (w.body::json)->>'host' AS host,
	(w.body::json)->>'queue' AS queue, ((w.body::json)->>'slots')::bigint AS slots,
	(w.body::json)->>'version' AS version, to_timestamp(w.heard_at / 1000.0) AS heard_at FROM {schema}.workers w;
--
REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM PUBLIC, loops_worker, loops_submit, loops_read;
--
REVOKE ALL ON FUNCTION {schema}.loops_submit(text[], text[], jsonb, text, bytea, text[], bytea[], text, jsonb)
	FROM PUBLIC;
--
GRANT USAGE ON SCHEMA {schema} TO loops_worker, loops_submit, loops_read;
--
GRANT SELECT ON {schema}.schema_migrations TO loops_worker, loops_submit, loops_read;
--
GRANT EXECUTE ON FUNCTION {schema}.loops_submit(text[], text[], jsonb, text, bytea, text[], bytea[], text, jsonb)
	TO loops_submit;
--
GRANT SELECT ON {schema}.loops_runs, {schema}.loops_queues, {schema}.loops_workers TO loops_read;
--
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO loops_worker;
--
GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO loops_worker;
--
REVOKE INSERT, UPDATE, DELETE ON {schema}.schema_migrations FROM loops_worker;
--
REVOKE ALL ON {schema}.submitters FROM loops_worker`

// Roles returns the statements that make the roles in the database at a location, or bring them up to date, and
// allow and deny users to submit. A *URLError means that it is not one of PostgreSQL.
func Roles(location string, allow, deny []Allowance) ([]string, error) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, badURL(location, "only PostgreSQL has roles: expected postgres://USER@HOST/NAME")
	}
	schema := u.Query().Get("search_path")
	if schema == "" {
		schema = "public"
	}
	schema = pgx.Identifier{schema}.Sanitize()
	text := strings.NewReplacer(append((&postgresDB{}).words(), "{schema}", schema)...).Replace(rolesSQL)
	all := strings.Split(text, ";\n--\n")
	quoted := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	for _, a := range allow {
		all = append(all, fmt.Sprintf("GRANT %s TO %s", RoleSubmit, pgx.Identifier{a.User}.Sanitize()),
			fmt.Sprintf("INSERT INTO %s.submitters (queue, member) VALUES (%s, %s) ON CONFLICT DO NOTHING", schema,
				quoted(a.Queue), quoted(a.User)))
	}
	for _, d := range deny {
		all = append(all, fmt.Sprintf("DELETE FROM %s.submitters WHERE queue = %s AND member = %s", schema,
			quoted(d.Queue), quoted(d.User)))
	}
	return all, nil
}

// SetRoles gives the statements of Roles, all or none. The user of the database has to own the tables, and may
// make roles.
func (s *Store) SetRoles(ctx context.Context, statements []string) error {
	return s.changeDurably(ctx, func(tx *sql.Tx) error {
		for _, text := range statements {
			if _, err := tx.ExecContext(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// ownsNothing reports whether the user of the database may only submit.
func (s *Store) ownsNothing(ctx context.Context) (only bool, err error) {
	err = s.read.QueryRowContext(ctx,
		`SELECT NOT has_table_privilege('runs', 'INSERT') AND to_regprocedure(
			'loops_submit(text[], text[], jsonb, text, bytea, text[], bytea[], text, jsonb)') IS NOT NULL`).
		Scan(&only)
	return only, err
}

// submitIDs is how many ids are offered for a run that is submitted by the function: one for each second from
// its start.
const submitIDs = 120

// submitByFunction is Submit of a user who may only submit.
func (s *Store) submitByFunction(ctx context.Context, r *row, definition []byte, memory string, texts []textRow,
	j persistence.Job, labels string, at int64,
) error {
	begin := r.StartedAt.UTC().Truncate(time.Second)
	var ids, runIDs, names []string
	for i := range submitIDs {
		id, runID := persistence.NewID(r.Loop, begin.Add(time.Duration(i)*time.Second))
		ids, runIDs = append(ids, string(id)), append(runIDs, runID)
	}
	var bodies [][]byte
	for _, t := range texts {
		names, bodies = append(names, t.name), append(bodies, []byte(t.body))
	}
	run, err := json.Marshal(map[string]any{"loop": r.Loop, "started_at": r.StartedAt.UnixMicro()})
	if err != nil {
		return err
	}
	job, err := json.Marshal(map[string]any{
		"queue": j.Queue, "key": j.Key, "priority": j.Priority, "at": at, "labels": labels, "files": j.Files,
		"hash": j.Hash, "request": string(j.Request),
	})
	if err != nil {
		return err
	}
	var id string
	err = s.changeDurably(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT loops_submit($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			ids, runIDs, string(run), string(appendAbout(nil, &r.Run)), definition, names, bodies, memory,
			string(job)).Scan(&id)
	})
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" {
		return fmt.Errorf("%s: %s; its owner can let the user: loops store roles --allow %s=USER", s.name, e.Message,
			j.Queue)
	}
	if err != nil {
		return err
	}
	r.ID = persistence.ID(id)
	r.RunID = runIDs[0]
	for i := range ids {
		if ids[i] == id {
			r.RunID = runIDs[i]
		}
	}
	return nil
}
