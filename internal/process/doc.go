// Package process knows the processes of this machine: which one a record means, whether it still lives, which ones
// an environment marker names, and how they are ended. A pid alone means little, because pids are used again;
// an [Identity] distinguishes a process from a later one with its pid.
//
// # How an action is found and ended
//
// An action is bash -c TEXT in its own process group with LOOPS_ACTION=project/segment/run/step/attempt in its
// environment (a hash of the project, because ids repeat between projects; the segment, so that no process ends what
// the next owner started). A stop or timeout sends TERM to the group and to everything that carries the marker, and
// KILL after a grace. When a runner was killed, its bash dies with it on Linux (PDEATHSIG); agents start tools in
// sessions of their own, which the marker finds; whatever outlived it is found by the marker at the next reconcile or
// resume and ended before anything else happens, so two copies of an action never run.
//
// A daemon that leaves the session and clears its environment has no marker. So on Linux an action begins in a
// control group of its own ([Cgroup]: version 2, no controllers, an attribute with the marker on its folder),
// wherever the runner may make one; what is in it counts as marked, also after the runner was killed. A group that is
// empty after its action is used for the next, because making one costs a tenth of a spawn. Elsewhere cmd/loops, and
// no library, makes itself a child subreaper ([AdoptOrphans]): what an action leaves becomes its child, is ended with
// the action, and is waited for by pid, never by wait4(-1). A daemon that an action leaves when it ends by itself
// keeps running in either case. A killed runner adopts nothing, so without control groups its next owner finds only
// what carries the marker. A tool of an MCP server is called by this same program in a process of its own (loops
// mcp-call), so a server can neither touch nor outlive the runner.
//
// # Logs of runs
//
// A [Log] writes what a run prints into files, of which a full one is moved aside.
//
// # What actions say
//
// A [StderrTail] reads what the actions of a run write to standard error while they run, from the files that the
// runner keeps of it in the working folder of the run.
package process
