-- Version 3 of the schema. From the machine down to the single sample, then what was concluded.
-- Times of day are text, ISO 8601 in UTC. Lists and dictionaries are JSON. Times are nanoseconds;
-- lists of them are packed (docs/design/database.md), and the views at the end read them. Texts
-- that are long are zlib's. `bytes` is the communication volume that docs/plan-and-records.md
-- defines. Ratios are left over right, or candidate over default.

-- Where it was measured.
CREATE TABLE machine (
    id               TEXT NOT NULL PRIMARY KEY,  -- hash of what must be equal before results are compared
    host             TEXT NOT NULL,              -- name of the host
    cpu_model        TEXT NOT NULL,              -- processor, as the system names it
    processing_units INTEGER NOT NULL,           -- hardware threads
    numa_nodes       INTEGER NOT NULL,           -- memory domains
    memory_bytes     INTEGER NOT NULL,           -- main memory, bytes
    kernel           TEXT NOT NULL,              -- release of the kernel
    system           TEXT NOT NULL               -- name of the operating system
) STRICT;

-- With which MPI, and how that was built.
CREATE TABLE library (
    fingerprint    TEXT NOT NULL PRIMARY KEY,  -- tells builds apart
    id             TEXT NOT NULL,              -- family and version, for people
    family         TEXT NOT NULL,              -- openmpi, mpich, …
    version        TEXT NOT NULL,              -- number of the version
    version_string TEXT NOT NULL,              -- what the library says about itself
    prefix         TEXT NOT NULL,              -- folder of the installation
    build          TEXT NOT NULL               -- what it says about its making: JSON, by name
) STRICT;

-- One question: a library on a machine with some settings. Rows of other commands have settings with a key `command`.
CREATE TABLE campaign (
    number              INTEGER PRIMARY KEY,                    -- in the order in which they were started
    id                  TEXT NOT NULL UNIQUE,                   -- name for people
    key                 TEXT NOT NULL UNIQUE,                   -- hash of machine, library and settings
    machine             TEXT NOT NULL REFERENCES machine (id),  -- where it was measured
    library_fingerprint TEXT NOT NULL REFERENCES library (fingerprint),  -- which build was measured
    nprocs              INTEGER NOT NULL CHECK (nprocs > 0),    -- ranks
    nodes               INTEGER NOT NULL CHECK (nodes > 0),     -- nodes
    ppn                 INTEGER NOT NULL CHECK (ppn > 0),       -- ranks a node
    oversubscribed      INTEGER NOT NULL CHECK (oversubscribed IN (0, 1)),  -- 1: more ranks than processing units
    settings            TEXT NOT NULL,                          -- what was asked for: JSON
    site_rules          TEXT,                                   -- text of the site's rules file that was in force; NULL: none
    state               TEXT NOT NULL CHECK (state IN ('running', 'finished')),  -- whether it is done
    started             TEXT NOT NULL,                          -- time of day
    finished            TEXT NOT NULL                           -- time of day; '': not yet
) STRICT;

-- Campaigns that one campaign file asks for together.
CREATE TABLE batch (
    name     TEXT NOT NULL,                           -- absolute path of the file
    position INTEGER NOT NULL CHECK (position >= 0),  -- place in the file, from 0
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- which one
    written  TEXT NOT NULL,                           -- time of day at which the file was run last
    PRIMARY KEY (name, position)
) STRICT, WITHOUT ROWID;

-- What a user typed for a campaign that is measured here.
CREATE TABLE command_line (
    campaign TEXT NOT NULL PRIMARY KEY REFERENCES campaign (id),  -- which one
    line     TEXT NOT NULL                                        -- its newest command, quoted for a shell
) STRICT, WITHOUT ROWID;

-- Launches of one purpose in one environment. Those that took turns differ in `arm` alone.
CREATE TABLE suite (
    number   INTEGER PRIMARY KEY,                     -- in the order in which they were begun
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- whose
    name     TEXT NOT NULL,                           -- label for people, made of the columns that follow
    stage    TEXT NOT NULL,                           -- what for: before, search, process, trial, proof, confirm, accept, explain, …
    round    INTEGER NOT NULL CHECK (round >= 0),     -- the how many-th of its stage; 0: there is one alone
    step     TEXT NOT NULL,                           -- which part of a round: again, pairs, in-force, …; '': the main one
    look     INTEGER NOT NULL CHECK (look > 0),       -- of a group-sequential design or a race: 1 is the first
    arm      TEXT NOT NULL,                           -- '': what the suite is about; default: the library as it is, in turn with it; else which candidate
    parted   INTEGER NOT NULL CHECK (parted >= 0),    -- 0: in use; else the campaign has gone another way since, for the how many-th time
    UNIQUE (campaign, name)
) STRICT;

-- One launch, the statistical replicate; also one that failed.
CREATE TABLE run (
    number        INTEGER PRIMARY KEY,                         -- in the order in which they were stored
    id            TEXT NOT NULL UNIQUE,                        -- campaign/suite-sequence
    suite         INTEGER NOT NULL REFERENCES suite (number),  -- what it belongs to
    sequence      INTEGER NOT NULL,                            -- place in its suite, from 0
    failure       TEXT CHECK (failure IN ('hung', 'too long', 'ended', 'bad records', 'no records', 'not in force')),  -- how it failed; NULL: it finished
    reason        TEXT NOT NULL,                               -- why it failed, for people; '': it did not
    failed_case   INTEGER,                                     -- number in its plan of the case that it was busy with; NULL: none
    under_way     TEXT NOT NULL,                               -- the same case by name; '': none
    argv          TEXT NOT NULL,                               -- command line: JSON list
    environment   TEXT NOT NULL,                               -- variables beyond the clean environment: JSON, by name
    plan          BLOB NOT NULL,                               -- the whole plan that the probe was given: text, zlib
    stderr        TEXT NOT NULL,                               -- what it wrote to its error output
    started       TEXT NOT NULL,                               -- time of day
    seconds       REAL NOT NULL,                               -- wall time of the launch, seconds
    timed_seconds REAL NOT NULL,                               -- part of it inside timed regions, seconds
    member        TEXT NOT NULL,                               -- ranks that stay alive between launches, by name; '': ranks of its own
    visit         INTEGER NOT NULL,                            -- how many launches these ranks have answered, with this one; 0: ranks of its own
    header        BLOB,                                        -- the probe's first record, with factors: JSON, zlib; NULL: none was written
    load          TEXT,                                        -- what else its hosts did meanwhile: the probe's record, JSON; NULL: it did not say
    footer        TEXT,                                        -- the probe's last record: JSON; NULL: it did not get that far
    records       BLOB NOT NULL,                               -- all its other records, in their order: JSON, a line each, zlib
    UNIQUE (suite, sequence)
) STRICT;

-- A distinct set of knob values, stored once.
CREATE TABLE configuration (
    number INTEGER PRIMARY KEY,  -- what other tables name it by
    knobs  TEXT NOT NULL UNIQUE  -- values by name: JSON with sorted keys; {} is the library as it comes
) STRICT;

-- What a case of a plan asks for. Cases that are alike in all launches are stored once.
CREATE TABLE planned_case (
    number        INTEGER PRIMARY KEY,                                 -- what other tables name it by
    function      TEXT NOT NULL,                                       -- MPI function
    variant       TEXT NOT NULL,                                       -- default, library, or a variant of ours
    config        TEXT NOT NULL,                                       -- id of the configuration in the plan
    configuration INTEGER NOT NULL REFERENCES configuration (number),  -- the knobs
    bytes         INTEGER NOT NULL CHECK (bytes >= 0),                 -- communication volume, bytes
    bytes_moved   INTEGER NOT NULL,                                    -- what the function moves for that, bytes
    type          TEXT NOT NULL,                                       -- datatype
    op            TEXT NOT NULL,                                       -- operator; '': the function has none
    root          INTEGER NOT NULL,                                    -- rank of the root
    counts        TEXT NOT NULL,                                       -- count shape: equal, linear, last or half
    reps          INTEGER NOT NULL,                                    -- repetitions a block
    delay_ns      INTEGER NOT NULL CHECK (delay_ns >= 0),              -- busy wait planted in the timed region, nanoseconds
    ranks         INTEGER NOT NULL CHECK (ranks >= 0),                 -- so many first ranks of the launch; 0: all
    use           TEXT NOT NULL,                                       -- way of use; '': that of the plan
    calls         INTEGER NOT NULL,                                    -- of a case that is only checked: how many calls; 0: it is timed
    least         INTEGER NOT NULL,                                    -- smallest volume of these calls, bytes
    mean          INTEGER NOT NULL,                                    -- mean volume of these calls at most, bytes
    by_rank       INTEGER NOT NULL CHECK (by_rank IN (0, 1)),          -- 1: each rank's own times are kept too
    UNIQUE (function, bytes, variant, configuration, config, bytes_moved, type, op, root, counts, reps, delay_ns, ranks, use, calls, least, mean, by_rank)
) STRICT;

-- One case of a launch: the outcome of its check, and its samples in short, which stay when samples are thrown away.
CREATE TABLE cell_time (
    run              INTEGER NOT NULL REFERENCES run (number),           -- launch
    case_id          INTEGER NOT NULL,                                   -- its number in the plan
    planned_case     INTEGER NOT NULL REFERENCES planned_case (number),  -- what was asked for
    outcome          TEXT CHECK (outcome IN ('ok', 'wrong', 'unsupported', 'error', 'not_in_force')),  -- of its check; NULL: the launch ended before
    detail           TEXT NOT NULL,                                      -- what the check said
    refused          TEXT,                                               -- why its samples are no results; NULL: they are
    transit          INTEGER NOT NULL CHECK (transit >= 0),              -- so many first blocks are no results, as the library was still changing how it does it
    settled          INTEGER NOT NULL CHECK (settled IN (0, 1)),         -- 0: times still fell when samples of some block were taken
    n                INTEGER CHECK (n > 0),  -- how many samples are results; NULL: none, and so the rest
    least_ns         INTEGER,                -- the shortest, nanoseconds
    quartile_1_ns    INTEGER,                -- a quarter of them is not longer, nanoseconds
    median_ns        REAL,                   -- their median, nanoseconds
    quartile_3_ns    INTEGER,                -- three quarters of them are not longer, nanoseconds
    percentile_95_ns INTEGER,                -- 95 % of them are not longer, nanoseconds
    greatest_ns      INTEGER,                -- the longest, nanoseconds
    PRIMARY KEY (run, case_id)
) STRICT, WITHOUT ROWID;

-- A place on the axis of a suite's curves, and why it was measured.
CREATE TABLE point (
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- run that it is of
    suite    TEXT NOT NULL,                           -- name of the suite
    axis     TEXT NOT NULL CHECK (axis IN ('bytes', 'ranks')),  -- what is varied
    place    INTEGER NOT NULL CHECK (place >= 0),     -- bytes, or ranks
    look     INTEGER NOT NULL CHECK (look > 0),       -- 1: it was asked for; else by how many looks at the curves it was found
    why      TEXT NOT NULL CHECK (why IN ('asked', 'curvature', 'crossover', 'jump')),  -- what it was to tell
    detail   TEXT NOT NULL,                           -- of which curve, and how sure, for people; '': asked
    PRIMARY KEY (campaign, suite, axis, place)
) STRICT, WITHOUT ROWID;

-- Samples that were thrown away, to keep the file small; their summaries are there.
CREATE TABLE pruned (
    campaign  TEXT NOT NULL PRIMARY KEY REFERENCES campaign (id),  -- whose
    time      TEXT NOT NULL,                          -- time of day
    series    INTEGER NOT NULL CHECK (series >= 0),   -- how many series
    samples   INTEGER NOT NULL CHECK (samples >= 0),  -- how many samples, warm-up too
    why       TEXT NOT NULL                           -- the rule by which
) STRICT;

-- A campaign that came from another database, or went to one.
CREATE TABLE transfer (
    campaign TEXT NOT NULL PRIMARY KEY REFERENCES campaign (id),  -- which one
    sha256   TEXT NOT NULL,                           -- of its content as it left
    host     TEXT NOT NULL,                           -- host that it left
    time     TEXT NOT NULL                            -- time of day at which it left
) STRICT;

-- Latency and time per byte of a class of pairs of ranks, fitted to round trips: t(m) = alpha + beta m.
CREATE TABLE hockney (
    campaign              TEXT NOT NULL REFERENCES campaign (id),    -- whose machine and library
    pair                  TEXT NOT NULL CHECK (pair IN ('same_core', 'same_cache', 'same_socket', 'other_numa', 'other_socket', 'other_node')),  -- class of pairs
    piece                 INTEGER NOT NULL CHECK (piece >= 0),       -- 0: one line for all sizes; 1, 2: before and after a change of protocol
    bytes_from            INTEGER NOT NULL CHECK (bytes_from >= 0),  -- smallest size it holds for, bytes
    bytes_to              INTEGER NOT NULL CHECK (bytes_to >= bytes_from),  -- largest size it holds for, bytes
    alpha_seconds         REAL NOT NULL CHECK (alpha_seconds >= 0),  -- latency, seconds
    alpha_low             REAL,                                      -- lower end of its interval, seconds; NULL: too few launches
    alpha_high            REAL,                                      -- upper end of its interval, seconds; NULL: too few launches
    beta_seconds_per_byte REAL NOT NULL CHECK (beta_seconds_per_byte >= 0),  -- time a byte, seconds
    beta_low              REAL,                                      -- lower end of its interval, seconds a byte; NULL: too few launches
    beta_high             REAL,                                      -- upper end of its interval, seconds a byte; NULL: too few launches
    deviation             REAL NOT NULL,                             -- mean of |line - measured| / measured
    launches              INTEGER NOT NULL CHECK (launches > 0),     -- how many it rests on
    PRIMARY KEY (campaign, pair, piece)
) STRICT, WITHOUT ROWID;

-- One cell of the violation table of a stage.
CREATE TABLE verdict (
    campaign    TEXT NOT NULL REFERENCES campaign (id),  -- whose
    stage       TEXT NOT NULL,                           -- which table: before, round-1, …, after
    position    INTEGER NOT NULL,                        -- place in the table, from 0
    guideline   TEXT NOT NULL,                           -- its name
    kind        TEXT NOT NULL CHECK (kind IN ('monotony', 'split', 'pattern', 'rank', 'overlap', 'nonblocking')),  -- of the guideline
    function    TEXT NOT NULL,                           -- left side: an MPI function, or a benchmark of overlap
    rhs         TEXT NOT NULL,                           -- right side: a function, its own call, or a variant
    nprocs      INTEGER NOT NULL,                        -- ranks
    ppn         INTEGER NOT NULL,                        -- ranks a node
    bytes       INTEGER NOT NULL,                        -- volume of the left side, bytes
    other_bytes INTEGER NOT NULL,                        -- volume of the right side, bytes
    factor      INTEGER NOT NULL,                        -- of a split that was computed: into so many messages
    verdict     TEXT NOT NULL CHECK (verdict IN ('holds', 'violated', 'undecided')),  -- what it is
    ratio       REAL,                                    -- left over right; NULL: not measured
    ratio_low   REAL,                                    -- lower end of its interval
    ratio_high  REAL,                                    -- upper end of its interval
    p           REAL,                                    -- of the test, one-sided
    p_adjusted  REAL,                                    -- the same, corrected for the size of the table
    launches    INTEGER NOT NULL,                        -- how many it rests on
    reason      TEXT NOT NULL,                           -- why it is undecided
    suites      TEXT NOT NULL,                           -- names of the suites it rests on: JSON list
    lhs         TEXT NOT NULL,                           -- left side: a variant, or default
    ranks       INTEGER NOT NULL CHECK (ranks >= 0),     -- left side: so many first ranks; 0: all
    uses        TEXT NOT NULL,                           -- the same cell in other ways of use: JSON list
    freedom     REAL NOT NULL,                           -- degrees of freedom of the interval; 0: launches alone
    PRIMARY KEY (campaign, stage, position)
) STRICT, WITHOUT ROWID;

-- Why a cell was searched, and what was found.
CREATE TABLE search (
    number      INTEGER PRIMARY KEY,                     -- what trials name it by
    campaign    TEXT NOT NULL REFERENCES campaign (id),  -- whose
    round       INTEGER NOT NULL,                        -- of the campaign, from 1
    function    TEXT NOT NULL,                           -- MPI function; *: the whole process
    nprocs      INTEGER NOT NULL,                        -- ranks
    ppn         INTEGER NOT NULL,                        -- ranks a node
    bytes       INTEGER NOT NULL,                        -- communication volume, bytes
    opened_by   TEXT NOT NULL,                           -- violations that asked for it: JSON list
    outcome     TEXT NOT NULL CHECK (outcome IN ('winner', 'nothing better')),  -- what it ended with
    reason      TEXT NOT NULL,                           -- why it stopped
    suites      TEXT NOT NULL,                           -- names of its suites: JSON list
    bound       TEXT NOT NULL,                           -- violation with the fastest right side; '': the default is the bound
    bound_ratio REAL CHECK (bound_ratio > 0),            -- that side over the default in the same launches; NULL: not measured
    UNIQUE (campaign, round, function, nprocs, ppn, bytes)
) STRICT;

-- A candidate of a search: its time over the default's in the same launches.
CREATE TABLE trial (
    search        INTEGER NOT NULL REFERENCES search (number),         -- whose
    position      INTEGER NOT NULL,                                    -- place among the candidates, from 0
    variant       TEXT NOT NULL,                                       -- default, or a variant of ours
    configuration INTEGER NOT NULL REFERENCES configuration (number),  -- the knobs
    state         TEXT NOT NULL CHECK (state IN ('measured', 'wrong', 'failed', 'not_in_force', 'unsupported', 'not_exportable', 'slower')),  -- what became of it
    ratio         REAL,                                                -- candidate over default; NULL: not measured
    ratio_low     REAL,                                                -- lower end of its interval
    ratio_high    REAL,                                                -- upper end of its interval
    launches      INTEGER NOT NULL,                                    -- how many it rests on
    detail        TEXT NOT NULL,                                       -- what was wrong with it
    PRIMARY KEY (search, position)
) STRICT, WITHOUT ROWID;

-- What replaces the default for bytes_from <= bytes <= bytes_to.
CREATE TABLE winner (
    campaign       TEXT NOT NULL REFERENCES campaign (id),              -- whose
    position       INTEGER NOT NULL,                                    -- place among the winners, from 0
    function       TEXT NOT NULL,                                       -- MPI function; *: the whole process
    nprocs         INTEGER NOT NULL,                                    -- ranks
    ppn            INTEGER NOT NULL,                                    -- ranks a node
    bytes_from     INTEGER NOT NULL CHECK (bytes_from >= 0),            -- smallest volume, bytes
    bytes_to       INTEGER NOT NULL CHECK (bytes_to >= bytes_from),     -- largest volume, bytes; 2^63 - 1: no end
    variant        TEXT NOT NULL,                                       -- default, or a variant of ours
    configuration  INTEGER NOT NULL REFERENCES configuration (number),  -- the knobs
    search_speedup REAL NOT NULL,                                       -- default over winner, as the search saw it
    speedup        REAL NOT NULL,                                       -- default over winner, cold, with the exported files in force
    speedup_low    REAL NOT NULL,                                       -- lower end of its interval
    speedup_high   REAL NOT NULL,                                       -- upper end of its interval
    removes        TEXT NOT NULL,                                       -- violations that are gone with it: JSON list
    restrictions   TEXT NOT NULL,                                       -- words of the search space, and its condition: JSON list
    tried          TEXT NOT NULL,                                       -- circumstances it was tried in, and its speed-up there: JSON list
    measured_from  INTEGER NOT NULL CHECK (measured_from >= 0),         -- smallest size at which it was measured, bytes
    measured_to    INTEGER NOT NULL CHECK (measured_to >= measured_from),  -- largest such size; both 0: unknown
    PRIMARY KEY (campaign, position)
) STRICT, WITHOUT ROWID;

-- A file that was handed out.
CREATE TABLE export (
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- whose
    path     TEXT NOT NULL,                           -- absolute path
    format   TEXT NOT NULL,                           -- exporter that wrote it
    sha256   TEXT NOT NULL,                           -- of its content
    created  TEXT NOT NULL,                           -- time of day
    PRIMARY KEY (campaign, path)
) STRICT, WITHOUT ROWID;

-- What the launches of a campaign have cost, added up as each is stored; those that were asked for afterwards are none of them.
CREATE TABLE cost (
    campaign      TEXT NOT NULL REFERENCES campaign (id),  -- whose
    failure       TEXT NOT NULL,                           -- how they failed, as in `run`; '': they finished
    launches      INTEGER NOT NULL CHECK (launches > 0),   -- how many
    seconds       REAL NOT NULL,                           -- their wall time, seconds
    timed_seconds REAL NOT NULL,                           -- part of it inside timed regions, seconds
    wrong         INTEGER NOT NULL CHECK (wrong >= 0),     -- cases of the library's own in them that gave wrong results
    newest        TEXT NOT NULL,                           -- time of day at which the newest one began
    PRIMARY KEY (campaign, failure)
) STRICT, WITHOUT ROWID;

-- A distinct (function, bytes) that the same launches have timed.
CREATE TABLE timed_cell (
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- whose
    function TEXT NOT NULL,                           -- MPI function
    bytes    INTEGER NOT NULL,                        -- communication volume, bytes
    PRIMARY KEY (campaign, function, bytes)
) STRICT, WITHOUT ROWID;

-- A place that results are compared within, and what all its campaigns together know of it: renewed with each of their tables.
CREATE TABLE coverage (
    machine             TEXT NOT NULL REFERENCES machine (id),  -- where
    library_fingerprint TEXT NOT NULL REFERENCES library (fingerprint),  -- which build
    nprocs              INTEGER NOT NULL,                       -- ranks
    ppn                 INTEGER NOT NULL,                       -- ranks a node
    command             TEXT NOT NULL,                          -- whose campaigns: '' of collectives, overlap tune
    in_force            TEXT REFERENCES campaign (id),          -- the campaign whose winners are in use; NULL: there are none
    timed_cells         INTEGER NOT NULL,                       -- distinct (function, bytes) that the campaigns that speak have timed
    finished            TEXT NOT NULL,                          -- time of day at which a campaign ended last; '': none did
    stages              TEXT NOT NULL,                          -- the newest verdicts, counted, before and after: JSON, by stage
    PRIMARY KEY (machine, library_fingerprint, nprocs, ppn, command)
) STRICT, WITHOUT ROWID;

-- What else happened.
CREATE TABLE event (
    number   INTEGER PRIMARY KEY,                     -- in the order in which it happened
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- whose
    time     TEXT NOT NULL,                           -- time of day
    kind     TEXT NOT NULL,                           -- what it is: winner dropped, launch failed, …
    text     TEXT NOT NULL,                           -- for people
    run      TEXT NOT NULL,                           -- id of the launch that it tells of; '': it is concluded from launches
    suite    TEXT NOT NULL,                           -- name of the suite that it tells of; '': none
    function TEXT NOT NULL                            -- MPI function that it tells of; *: the whole process; '': none
) STRICT;
CREATE INDEX event_of_campaign ON event (campaign);

-- What `plumbline watch` does here, as it last said; `FILE.watch.lock` says whether it still lives.
CREATE TABLE watch (
    daemon        TEXT NOT NULL PRIMARY KEY,                              -- who: made anew at each start
    state         TEXT NOT NULL CHECK (state IN ('running', 'stopped')),  -- what it said last
    pid           INTEGER NOT NULL,                                       -- its process
    host          TEXT NOT NULL,                                          -- where it runs
    started       TEXT NOT NULL,                                          -- time of day
    stepped       TEXT NOT NULL,                                          -- time of day at which its last step ended; '': none did
    step          TEXT NOT NULL,                                          -- which step that was: canary, confirm, search, apply, check, prune, wait
    waits_for     TEXT NOT NULL,                                          -- why it measures nothing now, for people; '': it may
    next_canary   TEXT NOT NULL,                                          -- time of day at which one is due; '': none
    error         TEXT NOT NULL,                                          -- the last error, for people; '': none
    failed        TEXT NOT NULL,                                          -- time of day of that error; '': none
    file          TEXT NOT NULL,                                          -- absolute path of its configuration
    configuration TEXT NOT NULL,                                          -- what is in force: JSON
    read          TEXT NOT NULL,                                          -- time of day at which that was read
    refused       TEXT NOT NULL,                                          -- why a later configuration was refused; '': none was
    refused_at    TEXT NOT NULL                                           -- time of day of that; '': none was
) STRICT;

-- What watching has cost in a day of UTC, and what became of its canaries.
CREATE TABLE watch_day (
    day             TEXT NOT NULL PRIMARY KEY,  -- date
    node_seconds    REAL NOT NULL,              -- of all launches: canaries, confirmations and searches
    canaries        INTEGER NOT NULL,           -- judged
    busy            INTEGER NOT NULL,           -- canaries that say nothing, as the machine was busy
    missed          INTEGER NOT NULL,           -- moments at which a canary was due and none was taken
    errors          INTEGER NOT NULL,           -- steps that failed
    pruned_canaries INTEGER NOT NULL,           -- old canaries whose launches were removed on that day
    pruned_launches INTEGER NOT NULL            -- these launches
) STRICT;

-- A campaign that is watched.
CREATE TABLE watched_campaign (
    campaign    TEXT NOT NULL PRIMARY KEY REFERENCES campaign (id),  -- which one
    begun       TEXT NOT NULL,                                       -- time of day at which its cells began to be learnt
    design      TEXT NOT NULL,                                       -- what the detector promises: JSON
    fingerprint TEXT NOT NULL,                                       -- what the learnt times rest on, by name: JSON
    generation  INTEGER NOT NULL CHECK (generation >= 0),            -- of `plumbline apply`, in force while they were learnt; 0: none
    canaries    INTEGER NOT NULL,                                    -- how many were begun, pruned ones too
    due         TEXT NOT NULL,                                       -- time of day of the next one; '': none
    stale       TEXT NOT NULL,                                       -- why its table is not of what is there now; '': it is
    stale_since TEXT NOT NULL                                        -- time of day at which that was seen; '': it is
) STRICT;

-- A few launches between campaigns, over the cells that matter and reference cases.
CREATE TABLE canary (
    number          INTEGER PRIMARY KEY,                                   -- in the order in which they were begun
    campaign        TEXT NOT NULL REFERENCES campaign (id),                -- whose cells
    round           INTEGER NOT NULL CHECK (round > 0),                    -- of its suites
    stage           TEXT NOT NULL CHECK (stage IN ('canary', 'recheck')),  -- canary: for the detector; recheck: of alarms, or of what was applied
    due             TEXT NOT NULL,                                         -- time of day at which it was to be
    started         TEXT NOT NULL,                                         -- time of day
    finished        TEXT NOT NULL,                                         -- time of day; '': under way
    seconds         REAL NOT NULL,                                         -- wall time of its launches, seconds
    node_seconds    REAL NOT NULL,                                         -- the same times nodes
    launches        INTEGER NOT NULL,                                      -- that were finished
    cells           INTEGER NOT NULL,                                      -- that were measured
    reference_cells INTEGER NOT NULL,                                      -- of them, those that no exported file changes
    outcome         TEXT NOT NULL CHECK (outcome IN ('under way', 'judged', 'busy', 'failed', 'given up')),  -- busy: the machine was, and it says nothing
    disturbance     REAL,                                                  -- its noise by what that usually stays below; NULL: too few reference cells
    alarms          INTEGER NOT NULL,                                      -- that it raised
    detail          TEXT NOT NULL,                                         -- what there is to say of it, for people
    pruned          INTEGER NOT NULL CHECK (pruned IN (0, 1)),             -- 1: its launches were removed by age
    UNIQUE (campaign, stage, round)
) STRICT;

-- A cell that is watched, and what the detector knows of it.
CREATE TABLE watched_cell (
    campaign TEXT NOT NULL REFERENCES campaign (id),  -- whose
    function TEXT NOT NULL,                           -- MPI function
    variant  TEXT NOT NULL,                           -- default: as a user calls it; else a reference case of ours
    bytes    INTEGER NOT NULL CHECK (bytes >= 0),     -- communication volume, bytes
    role     TEXT NOT NULL CHECK (role IN ('winner', 'violation', 'application', 'table', 'reference')),  -- why it is watched; table: few others matter
    seconds  REAL NOT NULL CHECK (seconds > 0),       -- time that ratios are over: that of its first canary, seconds
    state    TEXT NOT NULL,                           -- of the detector: JSON
    ratio    REAL NOT NULL,                           -- last one of its time to what was learnt, what all share taken off
    measured TEXT NOT NULL,                           -- time of day of that
    PRIMARY KEY (campaign, function, variant, bytes)
) STRICT, WITHOUT ROWID;

-- A cell that may have changed, and what has become of that.
CREATE TABLE alarm (
    number    INTEGER PRIMARY KEY,                                      -- in the order in which they were raised
    campaign  TEXT NOT NULL REFERENCES campaign (id),                   -- whose cell
    function  TEXT NOT NULL,                                            -- MPI function
    variant   TEXT NOT NULL,                                            -- of the watched cell
    bytes     INTEGER NOT NULL CHECK (bytes >= 0),                      -- communication volume, bytes
    direction TEXT NOT NULL CHECK (direction IN ('slower', 'faster')),  -- of the change
    found     TEXT NOT NULL,                                            -- time of day at which it was raised
    canary    INTEGER NOT NULL REFERENCES canary (number),              -- that raised it
    canaries  INTEGER NOT NULL,                                         -- that stood behind it then
    ratio     REAL NOT NULL,                                            -- of its times to those that were learnt, as last said
    largest   REAL NOT NULL,                                            -- the same, farthest from 1
    seen      TEXT NOT NULL,                                            -- time of day at which that was last said
    state     TEXT NOT NULL CHECK (state IN ('raised', 'confirmed', 'refuted', 'searching', 'removed', 'stays')),  -- what has become of it
    ended     TEXT NOT NULL,                                            -- time of day at which it was refuted, removed, or found to stay; '': open
    retuning  INTEGER REFERENCES retuning (number),                     -- search that it opened; NULL: none
    detail    TEXT NOT NULL                                             -- what launches in turn said, and what was done
) STRICT;

-- A search that watching has opened, and what was put in force by it.
CREATE TABLE retuning (
    number     INTEGER PRIMARY KEY,                     -- in the order in which they were opened
    campaign   TEXT NOT NULL REFERENCES campaign (id),  -- watched one, whose cells are concerned
    opened     TEXT NOT NULL,                           -- time of day
    because    TEXT NOT NULL,                           -- which change has opened it, for people
    settings   TEXT NOT NULL,                           -- of the search: JSON with the keys of a campaign file
    search     TEXT REFERENCES campaign (id),           -- campaign that searches; NULL: not begun
    state      TEXT NOT NULL CHECK (state IN ('searching', 'nothing better', 'offered', 'applied', 'kept', 'rolled back', 'failed')),  -- offered: somebody may apply it; kept: applied and confirmed
    previous   INTEGER NOT NULL,                        -- generation in force before; 0: none
    generation INTEGER NOT NULL,                        -- generation that was applied; 0: none
    ended      TEXT NOT NULL,                           -- time of day; '': under way
    detail     TEXT NOT NULL                            -- what there is to say of it, for people
) STRICT;

-- A command or a request to a webhook that told of something.
CREATE TABLE notice (
    number  INTEGER PRIMARY KEY,                                             -- in the order in which they were made
    time    TEXT NOT NULL,                                                   -- time of day
    way     TEXT NOT NULL CHECK (way IN ('command', 'webhook')),             -- how it was told
    subject TEXT NOT NULL,                                                   -- its first line
    state   TEXT NOT NULL CHECK (state IN ('sent', 'failed', 'held back')),  -- held back: too many before it
    detail  TEXT NOT NULL                                                    -- why it failed; '': it did not
) STRICT;

-- A recording in which collectives that are made by hand were looked for, as it was done last.
CREATE TABLE detection (
    number    INTEGER PRIMARY KEY,                          -- in the order in which recordings were seen first
    id        TEXT NOT NULL UNIQUE,                         -- of the recording: by what is in it
    recording TEXT NOT NULL,                                -- its folder
    command   TEXT NOT NULL,                                -- what was recorded, as it was typed
    library   TEXT NOT NULL,                                -- what the MPI library said about itself
    nprocs    INTEGER NOT NULL CHECK (nprocs > 0),          -- ranks
    seconds   REAL NOT NULL,                                -- from the first MPI_Init to the last MPI_Finalize, seconds
    looked    TEXT NOT NULL,                                -- time of day
    replayed  INTEGER NOT NULL CHECK (replayed IN (0, 1)),  -- 1: messages were played again beside the collectives
    findings  BLOB NOT NULL                                 -- what was found: JSON, as `plumbline detect --json` prints it, zlib
) STRICT;

-- Measurements with what was measured, and where: a run (a campaign, or the suites of a file) has suites, these have launches.
CREATE VIEW measured_case AS
SELECT cell_time.run AS launch_number, cell_time.case_id, suite.campaign AS run, suite.name AS suite, suite.stage,
       run.id AS launch, planned_case.function, planned_case.variant, configuration.knobs, planned_case.bytes,
       planned_case.type, planned_case.op, planned_case.root, planned_case.counts, planned_case.ranks,
       planned_case.use,
       run.failure IS NULL AND cell_time.outcome = 'ok' AND cell_time.refused IS NULL AS is_result
FROM cell_time JOIN planned_case ON planned_case.number = cell_time.planned_case
JOIN configuration ON configuration.number = planned_case.configuration
JOIN run ON run.number = cell_time.run JOIN suite ON suite.number = run.suite;
CREATE VIEW launch_median AS
SELECT measured_case.*, cell_time.n, cell_time.least_ns, cell_time.quartile_1_ns, cell_time.median_ns,
       cell_time.quartile_3_ns, cell_time.percentile_95_ns, cell_time.greatest_ns
FROM measured_case JOIN cell_time ON cell_time.run = measured_case.launch_number
     AND cell_time.case_id = measured_case.case_id
WHERE measured_case.is_result AND cell_time.n IS NOT NULL;
