-------------------------------- MODULE queue --------------------------------
(***************************************************************************)
(* The protocol of leases, fences and notes, for one channel, as the       *)
(* functions beside this folder keep it.  Names are theirs: message, note, *)
(* lease, tick, place, meter; a variable holds what is committed.          *)
(*                                                                         *)
(* A transaction sees what was committed when its statement began, and its *)
(* own changes; nobody sees those before it commits.  So a dequeue is four *)
(* steps: it begins, folds, takes, reviews, with those of others between   *)
(* them, and what it changed is in tx until it commits or is rolled back.  *)
(* A settler and a producer are two steps: what they write, and the commit.*)
(* Locks are as in README.md: nobody waits who dequeues.                   *)
(*                                                                         *)
(* Covered: leases that are told by notes and moved by the folder, marks,  *)
(* leases that run out, quiet notes and has_moved, pending notes, the      *)
(* order of the line, a limit from the start, a first limit that is set    *)
(* while dequeues run, settings that are read directly, crashes.           *)
(* Not covered: turns between channels, pauses, rates, sleep, capacity,    *)
(* the queue's own limit, heartbeats, the size of a fold, restores.        *)
(*                                                                         *)
(* Messages are numbered in the order of the line.  The clock goes up to   *)
(* MaxTime; a lease that is taken now ends one later.                      *)
(*                                                                         *)
(* Each rule is a constant that is TRUE; check_model.py sets one of them   *)
(* FALSE, and TLC has to find out.                                         *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Consumers,        \* who dequeues and settles
  Messages,         \* 1 .. n
  MaxConcurrency,   \* of the channel; 0: it has no limit
  LimitComesLater,  \* the limit is set while the queue is at work, where there was none
  MaxXid,           \* so many transactions write
  MaxTime,          \* so far the clock goes
  Crashes,          \* so many times the server may crash
  \* The rules:
  TickKeepsAgain,   \* fold_mark: a tick remembers who was still running
  QuietNotesAreFolded,  \* fold_read reads quiet notes as well
  FloorIsLowered,   \* channel_apply_changes: a note of a lower message lowers the floor
  OnlyFolderReviews,    \* channel_advance_floor: seats are taken under the fold lock
  LeasesAreNoted,   \* walk_lease: a lease goes into a note, and the folder moves it to lease
  MarkGoesBack,     \* fold_run: a lease that is told of late moves the mark back
  MovesAreKept,     \* channel_advance_floor: has_moved, after which no quiet note waits
  PendingIsRead,    \* change_pending: who cannot fold reads what is to be folded
  OneLook,          \* the tick and the ring are read from one snapshot
  SettingsAreRead,  \* ring_seats: the limit that is set, not the one that was folded
  WaitsForDequeues, \* limit_must_wait
  LooksAfterLock,   \* walk_quota: the count is read once the channel is locked
  CountsOnce,       \* message_complete: one note for one slot
  TokenIsCompared,  \* message_complete: where m.token = p_token
  TokenIsRandom,    \* walk_one: gen_random_uuid(), not a count of attempts
  CreateIsDurable,  \* commit_durably in message_create
  CompleteIsDurable \* commit_durably in message_complete

VARIABLES
  message,    \* what is stored: state, token, slot, until; serial tells leases apart
  note,       \* what was told and is not folded
  lease,      \* which messages to look at, and when
  tick,       \* until, again: whose notes were folded; mark, has_moved
  place,      \* seat, hold, floor; limit: the folded setting
  in_flight,  \* of the meter
  setting,    \* the limit as it was set; 0: none
  counting,   \* the limit that is set is counted in (meter.epoch)
  uncounted,  \* leases from before the limit, which count until they end
  limit_wait, \* whom a first limit waits for; asked: somebody has
  xid,        \* the next transaction id
  now,
  fold_lock, channel_lock, message_lock,  \* who holds them
  creating,   \* the producers' open transactions, by message
  tx,         \* the consumers' open dequeues
  settling,   \* the consumers' open settlements
  held,       \* leases that consumers believe they have
  serial,     \* leases so far, whatever a crash forgot
  accepted,   \* completions that were answered: which lease was meant, which one was ended
  created,    \* creates that were answered
  disk,       \* what a crash comes back to
  crashes

limits == <<setting, counting, uncounted, limit_wait>>
stored == <<message, note, lease, tick, place, in_flight, setting, counting, uncounted, xid>>
locks == <<fold_lock, channel_lock, message_lock>>
ghosts == <<serial, accepted, created>>
vars == <<stored, limit_wait, now, locks, creating, tx, settling, held, ghosts, disk, crashes>>

Symmetry == Permutations(Consumers)
Nobody == "nobody"
Last == Cardinality(Messages) + 1    \* a floor above all messages
Image == [message |-> message', note |-> note', lease |-> lease', tick |-> tick', place |-> place',
  in_flight |-> in_flight', setting |-> setting', counting |-> counting', uncounted |-> uncounted',
  xid |-> xid']
Least(set, other) == IF set = {} THEN other ELSE CHOOSE x \in set : \A y \in set : x <= y
RECURSIVE Sum(_)
Sum(notes) == IF notes = {} THEN 0
  ELSE LET n == CHOOSE each \in notes : TRUE IN n.slots + Sum(notes \ {n})

\* A note: of a message that is created or is back in the line, of a lease that ended, of leases that
\* were taken, of settings. message is 0, and due is 0, where there is none.
Note(x, kind, m, slots, quiet, due) ==
  [xid |-> x, kind |-> kind, message |-> m, slots |-> slots, quiet |-> quiet, due |-> due]
IsLine(n) == n.kind \in {"new", "back"}

\* How a transaction ends: a durable commit takes with it all that was committed before.
Durably == disk' = IF Crashes = 0 THEN disk ELSE Image
Relaxed == UNCHANGED disk

Idle == [step |-> "idle"]
Unset == [unset |-> TRUE]   \* what a transaction does not know, or needs no more
Init ==
  /\ message = [m \in Messages |->
      [state |-> "none", token |-> 0, slot |-> 0, attempt |-> 0, serial |-> 0, until |-> 0]]
  /\ note = {}
  /\ lease = {}
  /\ tick = [until |-> 1, again |-> {}, mark |-> 0, has_moved |-> FALSE]
  /\ setting = IF LimitComesLater THEN 0 ELSE MaxConcurrency
  /\ place = [seat |-> FALSE, hold |-> "none", floor |-> 1, limit |-> setting]
  /\ in_flight = 0
  /\ counting = ~LimitComesLater
  /\ uncounted = {}
  /\ limit_wait = [asked |-> FALSE, for |-> {}]
  /\ xid = 1
  /\ now = 0
  /\ fold_lock = Nobody
  /\ channel_lock = Nobody
  /\ message_lock = [m \in Messages |-> Nobody]
  /\ creating = [m \in Messages |-> [step |-> "new"]]
  /\ tx = [c \in Consumers |-> Idle]
  /\ settling = [c \in Consumers |-> Idle]
  /\ held = {}
  /\ serial = 0
  /\ accepted = {}
  /\ created = {}
  /\ crashes = 0
  /\ disk = IF Crashes = 0 THEN "none" ELSE
      [message |-> message, note |-> note, lease |-> lease, tick |-> tick, place |-> place,
       in_flight |-> in_flight, setting |-> setting, counting |-> counting, uncounted |-> uncounted,
       xid |-> xid]

Running ==
  {creating[m].xid : m \in {m \in Messages : creating[m].step = "open"}}
  \cup {settling[c].xid : c \in {c \in Consumers : settling[c].step = "open"}}
  \cup {tx[c].xid : c \in {c \in Consumers : tx[c].step # "idle" /\ tx[c].xid # 0}}

\* A note that the next fold will read.
IsUnread(n) == n.xid >= tick.until \/ n.xid \in tick.again
\* engine_state: a note that cannot wait, by a tick.
IsUrgent(n, t) == n.kind # "lease" /\
  (\/ n.xid >= t.until /\ (~n.quiet \/ t.has_moved)
   \/ n.xid \in t.again)

----------------------------------------------------------------------------
\* message_create: the message and its note, quiet where a dequeue looks anyway.
Create(m) ==
  /\ creating[m].step = "new"
  /\ xid <= MaxXid
  /\ creating' = [creating EXCEPT ![m] = [step |-> "open", xid |-> xid,
      quiet |-> (place.seat \/ place.hold # "none") /\ m >= place.floor]]
  /\ xid' = xid + 1
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, locks, tx, settling, held,
       ghosts, disk, crashes>>

CreateCommit(m) ==
  /\ creating[m].step = "open"
  /\ message' = [message EXCEPT ![m].state = "waiting"]
  /\ note' = note \cup {Note(creating[m].xid, "new", m, 0, creating[m].quiet, 0)}
  /\ creating' = [creating EXCEPT ![m] = [step |-> "done"]]
  /\ created' = created \cup {m}
  /\ UNCHANGED <<lease, tick, place, in_flight, limits, xid, now, locks, tx, settling, held, serial,
       accepted, crashes>>
  /\ IF CreateIsDurable THEN Durably ELSE Relaxed

CreateRollback(m) ==
  /\ creating[m].step = "open"
  /\ creating' = [creating EXCEPT ![m] = [step |-> "done"]]
  /\ UNCHANGED <<stored, limit_wait, now, locks, tx, settling, held, ghosts, disk, crashes>>

\* channel_set: the limit, and a note for the folder to look at it.
SetLimit ==
  /\ LimitComesLater /\ setting = 0
  /\ xid <= MaxXid
  /\ setting' = MaxConcurrency
  /\ note' = note \cup {Note(xid, "look", 0, 0, FALSE, 0)}
  /\ xid' = xid + 1
  /\ UNCHANGED <<message, lease, tick, place, in_flight, counting, uncounted, limit_wait, now, locks,
       creating, tx, settling, held, ghosts, crashes>>
  /\ Durably

----------------------------------------------------------------------------
\* message_dequeue. fold_lock() is taken if it is free. seen and knows are what it has to respect:
\* what waits, and whether a limit is set.
Begin(c) ==
  /\ tx[c].step = "idle"
  /\ xid <= MaxXid
  /\ place.seat \/ \E n \in note : IsUnread(n)
     \/ now > tick.mark   \* else it finds nothing
  /\ tx' = [tx EXCEPT ![c] = [step |-> "begun", xid |-> 0, is_folder |-> fold_lock = Nobody,
      place |-> Unset, in_flight |-> 0, tick |-> IF OneLook THEN Unset ELSE tick, moves |-> FALSE,
      ticks |-> FALSE, folded |-> {}, left |-> {}, lease |-> {}, leases |-> FALSE, expired |-> {},
      taken |-> 0, due |-> 0, slot |-> 0, walked |-> Unset, counted |-> 0, counting |-> FALSE,
      uncounted |-> {}, counts |-> FALSE, knows |-> setting # 0, skipped |-> {}, over |-> FALSE,
      seen |-> {m \in Messages : message[m].state = "waiting" /\ message_lock[m] = Nobody}]]
  /\ fold_lock' = IF fold_lock = Nobody THEN c ELSE fold_lock
  /\ UNCHANGED <<stored, limit_wait, now, channel_lock, message_lock, creating, settling, held, ghosts,
       disk, crashes>>

\* What c sees of where the channel stands: its own change, or what is committed.
PlaceOf(c) == IF tx[c].moves THEN tx[c].place ELSE place
CountOf(c) == IF tx[c].moves THEN tx[c].in_flight ELSE in_flight
CountingOf(c) == IF tx[c].counts THEN tx[c].counting ELSE counting
StateOf(c, m) == IF m \in tx[c].expired THEN "waiting" ELSE message[m].state
MayLock(c) == channel_lock \in {Nobody, c}
IsFree(c, m) == message_lock[m] \in {Nobody, c}

\* ring_seats, as far as it is one channel: where its line begins, with what notes tell that are not
\* folded (change_pending), and its limit as it is set. stands is what the call sees of place, t of tick.
Walked(stands, t) ==
  LET told == {n.message : n \in {n \in note : IsLine(n) /\ IsUrgent(n, t)}}
  IN [stands EXCEPT
       !.floor = IF PendingIsRead /\ Least(told, Last) < @ THEN Least(told, Last) ELSE @,
       !.limit = IF SettingsAreRead THEN setting ELSE @]

\* fold_run: leases go from notes to lease; those that have run out go back into the line; notes become
\* seats, counts and floors; a tick says whose notes those were, and up to when leases were looked at.
Fold(c) ==
  LET told_leases == {n \in note : IsUnread(n) /\ n.kind = "lease"}
      rows == lease \cup {[message |-> n.message, due |-> n.due] : n \in told_leases}
      first == Least({n.due : n \in told_leases}, tick.mark + 1) - 1
      mark == IF MarkGoesBack /\ first < tick.mark THEN first ELSE tick.mark
      looked == {row \in rows : row.due > mark /\ row.due <= now}
      leased == {row.message : row \in {row \in looked : message[row.message].state = "leased"}}
      late == {m \in leased : message[m].until <= now}
      expired == {m \in late : message_lock[m] = Nobody}
      kept == (rows \ looked)
        \cup {[message |-> m, due |-> now + 1] : m \in late \ expired}
        \cup {[message |-> m, due |-> message[m].until] : m \in leased \ late}
      ended == {u \in uncounted : u.message \in expired
        \/ message[u.message].state # "leased" \/ message[u.message].serial # u.serial}
      read == {n \in note : IsUnread(n) /\ n.kind # "lease" /\ (QuietNotesAreFolded \/ ~n.quiet)}
      told == {n.message : n \in {n \in read : IsLine(n)}} \cup expired
      look == \E n \in read : n.kind = "look"
      slots == Sum(read) + Cardinality(ended) + Cardinality({m \in expired : message[m].slot = 1})
      is_lower == FloorIsLowered /\ Least(told, Last) < place.floor
      is_change == slots # 0 \/ is_lower \/ look
        \/ (told # {} /\ ~place.seat /\ place.hold = "none")
      is_busy == is_change /\ ~MayLock(c)
      is_done == is_change /\ ~is_busy
      count == in_flight - slots
      limit == IF look THEN setting ELSE place.limit
      hold == IF limit > 0 /\ count >= limit THEN "saturated" ELSE "none"
      next == [seat |-> hold = "none" /\ (place.seat \/ place.hold # "none" \/ told # {} \/ look),
        hold |-> hold, limit |-> limit,
        floor |-> IF look THEN 1 ELSE IF is_lower THEN Least(told, Last) ELSE place.floor]
      again == Running \cup (IF is_busy THEN {n.xid : n \in read} ELSE {})
  IN
  /\ tx[c].step = "begun"
  /\ tx[c].is_folder
  /\ read # {} \/ told_leases # {} \/ now > tick.mark \/ ended # {}   \* a sweep folds in any case
  /\ xid <= MaxXid
  /\ xid' = xid + 1
  /\ tx' = [tx EXCEPT ![c].step = "folded", ![c].xid = xid, ![c].ticks = TRUE,
      ![c].walked = Walked(IF is_done THEN next ELSE place,
        IF is_done \/ ~is_change THEN [until |-> xid + 1, again |-> {}, has_moved |-> FALSE] ELSE tick),
      ![c].counted = IF LooksAfterLock THEN 0 ELSE IF is_done THEN count ELSE in_flight,
      ![c].moves = is_done,
      ![c].place = IF is_done THEN next ELSE @,
      ![c].in_flight = IF is_done THEN count ELSE @,
      ![c].counts = is_done,
      ![c].uncounted = IF is_done THEN uncounted \ ended ELSE {},
      ![c].counting = is_done /\ counting,
      ![c].folded = (IF is_busy THEN {} ELSE read) \cup told_leases,
      ![c].left = IF is_busy
        THEN {Note(xid, "back", m, message[m].slot, FALSE, 0) : m \in expired} ELSE {},
      ![c].leases = TRUE, ![c].lease = kept, ![c].expired = expired,
      ![c].tick = [until |-> xid, again |-> IF TickKeepsAgain THEN again ELSE {}, mark |-> now,
        has_moved |-> FALSE]]
  /\ channel_lock' = IF is_done THEN c ELSE channel_lock
  /\ message_lock' = [m \in Messages |-> IF m \in expired THEN c ELSE message_lock[m]]
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, fold_lock, creating,
       settling, held, ghosts, disk, crashes>>

\* Nothing is urgent: a dequeue goes on without a fold. Whoever is not the folder never folds, but reads
\* what is to be folded.
GoOn(c) ==
  /\ tx[c].step = "begun"
  /\ ~tx[c].is_folder \/ \A n \in note : ~IsUrgent(n, tick)
  /\ tx' = [tx EXCEPT ![c].step = "folded", ![c].counted = IF LooksAfterLock THEN 0 ELSE in_flight,
      ![c].tick = Unset, ![c].walked = Walked(place, IF OneLook THEN tick ELSE tx[c].tick)]
  /\ UNCHANGED <<stored, limit_wait, now, locks, creating, settling, held, ghosts, disk, crashes>>

\* A transaction gets its id with the first thing that it writes.
Write(c) ==
  /\ tx[c].xid # 0 \/ xid <= MaxXid
  /\ xid' = IF tx[c].xid = 0 THEN xid + 1 ELSE xid
XidOf(c) == IF tx[c].xid = 0 THEN xid ELSE tx[c].xid

\* limit_begin: a first limit is counted in when the dequeues have ended that may not know of it. Whom it
\* waits for is written at once here, which a rollback would undo; then they are asked for anew.
BeginToCount(c) ==
  LET running == {other \in Consumers \ {c} : tx[other].step # "idle"}
      missed == {m \in Messages : message[m].state = "leased" /\ m \notin tx[c].expired
        /\ message[m].slot = 0}
      must_wait == WaitsForDequeues /\
        (IF limit_wait.asked THEN limit_wait.for # {} ELSE running # {})
  IN
  /\ tx[c].step = "folded"
  /\ tx[c].is_folder /\ tx[c].walked.limit > 0 /\ ~CountingOf(c) /\ MayLock(c)
  /\ IF must_wait
     THEN /\ ~limit_wait.asked
          /\ limit_wait' = [asked |-> TRUE, for |-> running]
          /\ UNCHANGED <<tx, xid, channel_lock>>
     ELSE /\ Write(c)
          /\ channel_lock' = c
          /\ UNCHANGED limit_wait
          /\ tx' = [tx EXCEPT ![c].xid = XidOf(c), ![c].counts = TRUE, ![c].counting = TRUE,
               ![c].uncounted = {[message |-> m, serial |-> message[m].serial] : m \in missed},
               ![c].moves = TRUE, ![c].place = PlaceOf(c),
               ![c].in_flight = CountOf(c) + Cardinality(missed)]
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, setting, counting, uncounted, now,
       fold_lock, message_lock, creating, settling, held, ghosts, disk, crashes>>

\* walk_one and walk_lease: the first message that waits and that nobody has locked. With a limit, the
\* channel is locked first, and counted after.
Take(c) ==
  LET stands == PlaceOf(c)
      limit == tx[c].walked.limit
      count == IF LooksAfterLock THEN CountOf(c) ELSE tx[c].counted
      line == {m \in Messages : m >= tx[c].walked.floor /\ StateOf(c, m) = "waiting" /\ IsFree(c, m)}
      first == Least(line, Last)
      full == count + 1 >= limit
      out == {m \in Messages : (message[m].state = "leased" /\ m \notin tx[c].expired)
        \/ \E other \in Consumers \ {c} : tx[other].step # "idle" /\ tx[other].taken = m}
      taken == [tx[c] EXCEPT !.step = "taken", !.xid = XidOf(c), !.taken = first, !.due = now + 1,
        !.slot = IF limit > 0 THEN 1 ELSE 0, !.walked = Unset, !.seen = {}, !.counted = 0,
        !.skipped = {m \in tx[c].seen : m < first /\ message[m].state = "waiting"
          /\ message_lock[m] = Nobody},
        !.over = tx[c].knows /\ Cardinality(out) >= MaxConcurrency]
  IN
  /\ tx[c].step = "folded"
  /\ tx[c].walked.seat
  /\ line # {}
  /\ Write(c)
  /\ message_lock' = [message_lock EXCEPT ![first] = c]
  /\ IF limit = 0
     THEN /\ tx' = [tx EXCEPT ![c] = taken]
          /\ UNCHANGED channel_lock
     ELSE /\ MayLock(c)
          /\ CountingOf(c)
          /\ stands.seat \/ ~LooksAfterLock
          /\ count < limit
          /\ channel_lock' = c
          /\ tx' = [tx EXCEPT ![c] = [taken EXCEPT !.moves = TRUE, !.in_flight = count + 1,
               !.place = IF full /\ stands.seat THEN [stands EXCEPT !.seat = FALSE, !.hold = "saturated"]
                         ELSE stands]]
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, fold_lock, creating,
       settling, held, ghosts, disk, crashes>>

\* message_lease_direct: nobody is in the ring, and the only note that is to be folded tells of one message, which
\* is taken straight off it.
NoteLease(c) ==
  LET read == {n \in note : IsUrgent(n, tick)}
  IN
  /\ tx[c].step = "begun"
  /\ tx[c].is_folder
  /\ setting = 0
  /\ ~place.seat /\ place.hold = "none"
  /\ ~\E row \in lease : row.due > tick.mark /\ row.due <= now
  /\ Cardinality(read) = 1
  /\ \E n \in read :
       /\ n.kind = "new" /\ n.xid >= tick.until /\ ~n.quiet
       /\ message[n.message].state = "waiting"
       /\ message_lock[n.message] = Nobody
       /\ message_lock' = [message_lock EXCEPT ![n.message] = c]
       /\ tx' = [tx EXCEPT ![c].step = "reviewed", ![c].xid = xid, ![c].taken = n.message,
            ![c].due = now + 1, ![c].folded = {n}, ![c].seen = {}, ![c].tick = Unset,
            ![c].skipped = {m \in tx[c].seen : m < n.message /\ message[m].state = "waiting"
              /\ message_lock[m] = Nobody}]
  /\ Write(c)
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, fold_lock, channel_lock,
       creating, settling, held, ghosts, disk, crashes>>

\* channel_advance_floor: takes the seat of a channel where nothing waits, and moves the floor up. What another
\* call has locked and not yet committed still shows as waiting.
Review(c) ==
  LET stands == PlaceOf(c)
      line == {m \in Messages : m >= stands.floor /\ StateOf(c, m) = "waiting" /\ m # tx[c].taken}
  IN
  /\ tx[c].step \in {"folded", "taken"}
  /\ tx[c].is_folder \/ ~OnlyFolderReviews
  /\ MayLock(c)
  /\ stands.seat \/ stands.hold # "none"
  /\ stands.floor # Least(line, Last)   \* else nothing changes
  /\ Write(c)
  /\ channel_lock' = c
  /\ tx' = [tx EXCEPT ![c].step = "reviewed", ![c].xid = XidOf(c), ![c].moves = TRUE,
      ![c].walked = Unset, ![c].seen = {}, ![c].in_flight = CountOf(c),
      ![c].place = [stands EXCEPT !.seat = @ /\ line # {}, !.floor = Least(line, Last)],
      ![c].ticks = @ \/ (MovesAreKept /\ tx[c].is_folder),
      ![c].tick = IF tx[c].ticks THEN [@ EXCEPT !.has_moved = MovesAreKept]
        ELSE IF MovesAreKept /\ tx[c].is_folder THEN [tick EXCEPT !.has_moved = TRUE] ELSE Unset]
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, fold_lock, message_lock,
       creating, settling, held, ghosts, disk, crashes>>

Release(c) ==
  /\ tx' = [tx EXCEPT ![c] = Idle]
  /\ fold_lock' = IF fold_lock = c THEN Nobody ELSE fold_lock
  /\ channel_lock' = IF channel_lock = c THEN Nobody ELSE channel_lock
  /\ message_lock' = [m \in Messages |-> IF message_lock[m] = c THEN Nobody ELSE message_lock[m]]
  /\ limit_wait' = [limit_wait EXCEPT !.for = @ \ {c}]

\* commit_relaxed: a crash may forget it.
DequeueCommit(c) ==
  LET t == tx[c]
      token == IF TokenIsRandom THEN serial + 1 ELSE message[t.taken].attempt + 1
      back == [m \in Messages |-> IF m \in t.expired
        THEN [message[m] EXCEPT !.state = "waiting", !.token = 0, !.slot = 0, !.until = 0]
        ELSE message[m]]
      rows == IF t.leases THEN t.lease ELSE lease
  IN
  /\ t.step \in {"folded", "taken", "reviewed"}
  /\ place' = IF t.moves THEN t.place ELSE place
  /\ in_flight' = IF t.moves THEN t.in_flight ELSE in_flight
  /\ counting' = IF t.counts THEN t.counting ELSE counting
  /\ uncounted' = IF t.counts THEN t.uncounted ELSE uncounted
  /\ tick' = IF t.ticks THEN t.tick ELSE tick
  /\ lease' = IF t.taken # 0 /\ ~LeasesAreNoted
       THEN rows \cup {[message |-> t.taken, due |-> t.due]} ELSE rows
  /\ note' = ((note \ t.folded) \cup t.left)
       \cup (IF t.taken # 0 /\ LeasesAreNoted THEN {Note(t.xid, "lease", t.taken, 0, TRUE, t.due)} ELSE {})
  /\ IF t.taken = 0
     THEN message' = back /\ UNCHANGED <<held, serial>>
     ELSE /\ message' = [back EXCEPT ![t.taken] = [state |-> "leased", token |-> token, slot |-> t.slot,
               attempt |-> @.attempt + 1, serial |-> serial + 1, until |-> t.due]]
          /\ held' = held \cup {[consumer |-> c, message |-> t.taken, token |-> token,
               serial |-> serial + 1]}
          /\ serial' = serial + 1
  /\ Release(c)
  /\ UNCHANGED <<setting, xid, now, creating, settling, accepted, created, crashes>>
  /\ Relaxed

DequeueRollback(c) ==
  /\ tx[c].step # "idle"
  /\ Release(c)
  /\ UNCHANGED <<stored, now, creating, settling, held, ghosts, disk, crashes>>

----------------------------------------------------------------------------
\* message_complete: the row is locked, its token compared; the slot's note commits with it.
Complete(h) ==
  LET m == h.message
      c == h.consumer
      fits == message[m].state = "leased" /\ (message[m].token = h.token \/ ~TokenIsCompared)
  IN
  /\ settling[c].step = "idle"
  /\ message_lock[m] = Nobody
  /\ held' = held \ {h}
  /\ IF fits /\ xid <= MaxXid
     THEN /\ settling' = [settling EXCEPT ![c] = [step |-> "open", xid |-> xid, lease |-> h]]
          /\ message_lock' = [message_lock EXCEPT ![m] = <<c>>]
          /\ xid' = xid + 1
     ELSE UNCHANGED <<settling, message_lock, xid>>   \* lease_lost, not_found
  /\ UNCHANGED <<message, note, lease, tick, place, in_flight, limits, now, fold_lock, channel_lock,
       creating, tx, ghosts, disk, crashes>>

CompleteCommit(c) ==
  LET h == settling[c].lease
      m == h.message
      slots == IF CountsOnce THEN message[m].slot ELSE 2 * message[m].slot
  IN
  /\ settling[c].step = "open"
  /\ message' = [message EXCEPT ![m].state = "gone", ![m].token = 0, ![m].slot = 0, ![m].until = 0]
  /\ note' = IF slots = 0 THEN note
       ELSE note \cup {Note(settling[c].xid, "end", 0, slots, FALSE, 0)}
  /\ accepted' = accepted \cup {[message |-> m, meant |-> h.serial, ended |-> message[m].serial]}
  /\ settling' = [settling EXCEPT ![c] = Idle]
  /\ message_lock' = [message_lock EXCEPT ![m] = Nobody]
  /\ UNCHANGED <<lease, tick, place, in_flight, limits, xid, now, fold_lock, channel_lock, creating, tx,
       held, serial, created, crashes>>
  /\ IF CompleteIsDurable THEN Durably ELSE Relaxed

CompleteRollback(c) ==
  /\ settling[c].step = "open"
  /\ settling' = [settling EXCEPT ![c] = Idle]
  /\ message_lock' = [message_lock EXCEPT ![settling[c].lease.message] = Nobody]
  /\ UNCHANGED <<stored, limit_wait, now, fold_lock, channel_lock, creating, tx, held, ghosts, disk,
       crashes>>

TimePasses ==
  /\ now < MaxTime
  /\ now' = now + 1
  /\ UNCHANGED <<stored, limit_wait, locks, creating, tx, settling, held, ghosts, disk, crashes>>

\* The server comes back to the last durable commit. What was open is rolled back; who had a lease
\* goes on believing in it.
Crash ==
  /\ crashes < Crashes
  /\ crashes' = crashes + 1
  /\ message' = disk.message
  /\ note' = disk.note
  /\ lease' = disk.lease
  /\ tick' = disk.tick
  /\ place' = disk.place
  /\ in_flight' = disk.in_flight
  /\ setting' = disk.setting
  /\ counting' = disk.counting
  /\ uncounted' = disk.uncounted
  /\ xid' = disk.xid
  /\ limit_wait' = [limit_wait EXCEPT !.for = {}]
  /\ fold_lock' = Nobody
  /\ channel_lock' = Nobody
  /\ message_lock' = [m \in Messages |-> Nobody]
  /\ creating' = [m \in Messages |-> IF creating[m].step = "open" THEN [step |-> "done"] ELSE creating[m]]
  /\ tx' = [c \in Consumers |-> Idle]
  /\ settling' = [c \in Consumers |-> Idle]
  /\ UNCHANGED <<now, held, ghosts, disk>>

Next ==
  \/ \E m \in Messages : Create(m) \/ CreateCommit(m) \/ CreateRollback(m)
  \/ SetLimit
  \/ \E c \in Consumers : Begin(c) \/ Fold(c) \/ GoOn(c) \/ BeginToCount(c) \/ Take(c) \/ NoteLease(c)
       \/ Review(c) \/ DequeueCommit(c) \/ DequeueRollback(c) \/ CompleteCommit(c) \/ CompleteRollback(c)
  \/ \E h \in held : Complete(h)
  \/ TimePasses
  \/ Crash

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* queue_check's reachable: a message that waits will be found. It lies at or above the floor, or a note
\* that will be read tells of it; and the channel has a seat, or such a note gives it one, or it is held
\* until a slot is free, and one will be.
Reachable ==
  \A m \in Messages : message[m].state = "waiting" =>
    /\ m >= place.floor \/ \E n \in note : IsUnread(n) /\ ((IsLine(n) /\ n.message <= m) \/ n.kind = "look")
    /\ \/ place.seat
       \/ \E n \in note : IsUnread(n) /\ n.kind = "look"
       \/ place.hold = "none" /\ \E n \in note : IsUnread(n) /\ IsLine(n)
       \/ place.hold = "saturated" /\
            (\/ \E other \in Messages : message[other].slot = 1
             \/ uncounted # {}
             \/ \E n \in note : IsUnread(n) /\ n.slots > 0)

\* queue_check's lease_checked: every lease is told of by a note that will be read, or is in lease after
\* the mark, and not later than it ends, or a moment from now.
Watched ==
  \A m \in Messages : message[m].state = "leased" =>
    LET in_time(due) == due <= message[m].until \/ due <= now + 1
    IN \/ \E row \in lease : row.message = m /\ row.due > tick.mark /\ in_time(row.due)
       \/ \E n \in note : n.kind = "lease" /\ n.message = m /\ IsUnread(n) /\ in_time(n.due)

\* queue_check's in_flight: the count is the leases that count, and those whose end is not folded yet.
Counted ==
  in_flight = Cardinality({m \in Messages : message[m].slot = 1}) + Cardinality(uncounted) + Sum(note)

\* Rule 5: no dequeue that began after the limit was set goes over it, whoever else takes at the moment.
Limited == MaxConcurrency > 0 => \A c \in Consumers : tx[c].step # "idle" => ~tx[c].over

\* The order of the line, among what was committed and free when the dequeue began.
InOrder == \A c \in Consumers : tx[c].step # "idle" => tx[c].skipped = {}

\* Rule 7: a completion ends the lease that was meant.
Fenced == \A a \in accepted : a.meant = a.ended

\* What was answered is so, whatever happened since.
Kept ==
  /\ \A m \in created : message[m].state # "none"
  /\ \A a \in accepted : message[a.message].state = "gone"

\* A message that nobody can have committed is not there.
NoGhost == \A m \in Messages : message[m].state # "none" => m \in created
=============================================================================
