-------------------------------- MODULE queue --------------------------------
(***************************************************************************)
(* The protocol of leases, fences and notes, for one channel, as the       *)
(* functions beside this folder keep it.  Names are theirs: message, note, *)
(* tick, place, meter; a variable holds what is committed.                 *)
(*                                                                         *)
(* A transaction sees what was committed when its statement began, and its *)
(* own changes; nobody sees those before it commits.  So a dequeue is four *)
(* steps: it begins, folds, takes, reviews, with those of others between   *)
(* them, and what it changed is in tx until it commits or is rolled back.  *)
(* A settler and a producer are two steps: what they write, and the commit.*)
(* Locks are as in README.md: nobody waits who dequeues.                   *)
(*                                                                         *)
(* Messages are numbered in the order of the line.  Time is not modelled:  *)
(* a lease may run out at any moment.                                      *)
(*                                                                         *)
(* Each rule is a constant that is TRUE; check.py sets one of them FALSE,  *)
(* and TLC has to find out.                                                *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Consumers,        \* who dequeues and settles
  Messages,         \* 1 .. n
  MaxConcurrency,   \* of the channel; 0: it has no limit
  MaxXid,           \* so many transactions write
  Crashes,          \* so many times the server may crash
  \* The rules:
  TickKeepsAgain,   \* queue_fold: a tick remembers who was still running
  QuietNotesAreFolded,  \* queue_fold reads quiet notes as well
  FloorIsLowered,   \* channel_place: a note of a lower message lowers the floor
  OnlyFolderReviews,    \* channel_review: seats are taken under the fold lock
  LooksAfterLock,   \* ring_lease: the count is read once the channel is locked
  CountsOnce,       \* message_complete: one note for one slot
  TokenIsCompared,  \* message_complete: where m.token = p_token
  TokenIsRandom,    \* message_dequeue: gen_random_uuid(), not a count of attempts
  CreateIsDurable,  \* commit_durably in message_create
  CompleteIsDurable \* commit_durably in message_complete

VARIABLES
  message,    \* what is stored: state, token, slot; serial tells leases apart
  note,       \* what was told and is not folded
  tick,       \* until, again: whose notes were folded
  place,      \* seat, hold, floor
  in_flight,  \* of the meter
  xid,        \* the next transaction id
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

stored == <<message, note, tick, place, in_flight, xid>>
locks == <<fold_lock, channel_lock, message_lock>>
ghosts == <<serial, accepted, created>>
vars == <<stored, locks, creating, tx, settling, held, ghosts, disk, crashes>>

Symmetry == Permutations(Consumers)
Nobody == "nobody"
Last == Cardinality(Messages) + 1    \* a floor above all messages
Image == [message |-> message', note |-> note', tick |-> tick', place |-> place',
  in_flight |-> in_flight', xid |-> xid']
Least(set, other) == IF set = {} THEN other ELSE CHOOSE x \in set : \A y \in set : x <= y
RECURSIVE Sum(_)
Sum(notes) == IF notes = {} THEN 0
  ELSE LET n == CHOOSE each \in notes : TRUE IN n.slots + Sum(notes \ {n})

\* How a transaction ends: a durable commit takes with it all that was committed before.
Durably == disk' = IF Crashes = 0 THEN disk ELSE Image
Relaxed == UNCHANGED disk

Idle == [step |-> "idle"]
Init ==
  /\ message = [m \in Messages |->
      [state |-> "none", token |-> 0, slot |-> 0, attempt |-> 0, serial |-> 0]]
  /\ note = {}
  /\ tick = [until |-> 1, again |-> {}]
  /\ place = [seat |-> FALSE, hold |-> "none", floor |-> 1]
  /\ in_flight = 0
  /\ xid = 1
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
      [message |-> message, note |-> note, tick |-> tick, place |-> place,
       in_flight |-> in_flight, xid |-> xid]

Running ==
  {creating[m].xid : m \in {m \in Messages : creating[m].step = "open"}}
  \cup {settling[c].xid : c \in {c \in Consumers : settling[c].step = "open"}}
  \cup {tx[c].xid : c \in {c \in Consumers : tx[c].step # "idle" /\ tx[c].xid # 0}}

\* A note that the next fold will read.
IsUnread(n) == n.xid >= tick.until \/ n.xid \in tick.again

----------------------------------------------------------------------------
\* message_create: the message and its note, quiet where a dequeue looks anyway.
Create(m) ==
  /\ creating[m].step = "new"
  /\ xid <= MaxXid
  /\ creating' = [creating EXCEPT ![m] = [step |-> "open", xid |-> xid,
      quiet |-> (place.seat \/ place.hold # "none") /\ m >= place.floor]]
  /\ xid' = xid + 1
  /\ UNCHANGED <<message, note, tick, place, in_flight, locks, tx, settling, held, ghosts, disk,
       crashes>>

CreateCommit(m) ==
  /\ creating[m].step = "open"
  /\ message' = [message EXCEPT ![m].state = "waiting"]
  /\ note' = note \cup {[xid |-> creating[m].xid, message |-> m, slots |-> 0,
      quiet |-> creating[m].quiet, single |-> TRUE]}
  /\ creating' = [creating EXCEPT ![m] = [step |-> "done"]]
  /\ created' = created \cup {m}
  /\ UNCHANGED <<tick, place, in_flight, xid, locks, tx, settling, held, serial, accepted, crashes>>
  /\ IF CreateIsDurable THEN Durably ELSE Relaxed

CreateRollback(m) ==
  /\ creating[m].step = "open"
  /\ creating' = [creating EXCEPT ![m] = [step |-> "done"]]
  /\ UNCHANGED <<stored, locks, tx, settling, held, ghosts, disk, crashes>>

----------------------------------------------------------------------------
\* message_dequeue. fold_lock() is taken if it is free.
Begin(c) ==
  /\ tx[c].step = "idle"
  /\ xid <= MaxXid
  /\ place.seat \/ \E n \in note : IsUnread(n)   \* else it finds nothing
  /\ tx' = [tx EXCEPT ![c] = [step |-> "begun", xid |-> 0, is_folder |-> fold_lock = Nobody,
      place |-> place, in_flight |-> in_flight, tick |-> tick, moves |-> FALSE, folds |-> FALSE,
      folded |-> {}, taken |-> 0, walked |-> place, counted |-> 0]]
  /\ fold_lock' = IF fold_lock = Nobody THEN c ELSE fold_lock
  /\ UNCHANGED <<stored, channel_lock, message_lock, creating,
       settling, held, ghosts, disk, crashes>>

\* What c sees of where the channel stands: its own change, or what is committed.
PlaceOf(c) == IF tx[c].moves THEN tx[c].place ELSE place
CountOf(c) == IF tx[c].moves THEN tx[c].in_flight ELSE in_flight
MayLock(c) == channel_lock \in {Nobody, c}

\* queue_fold: notes become seats, counts and floors; a tick says whose notes those were.
Fold(c) ==
  LET read == {n \in note : IsUnread(n) /\ (QuietNotesAreFolded \/ ~n.quiet)}
      told == {n.message : n \in {n \in read : n.message # 0}}
      slots == Sum(read)
      is_lower == FloorIsLowered /\ Least(told, Last) < place.floor
      is_change == slots # 0 \/ is_lower
        \/ (told # {} /\ ~place.seat /\ place.hold = "none")
      is_busy == is_change /\ ~MayLock(c)
      count == in_flight - slots
      hold == IF MaxConcurrency > 0 /\ count >= MaxConcurrency THEN "saturated" ELSE "none"
      next == [seat |-> hold = "none" /\ (place.seat \/ place.hold # "none" \/ told # {}),
        hold |-> hold, floor |-> IF is_lower THEN Least(told, Last) ELSE place.floor]
      again == Running \cup (IF is_busy THEN {n.xid : n \in read} ELSE {})
  IN
  /\ tx[c].step = "begun"
  /\ tx[c].is_folder
  /\ IF read = {}
     THEN /\ tx' = [tx EXCEPT ![c].step = "folded", ![c].walked = place, ![c].counted = in_flight]
          /\ UNCHANGED <<channel_lock, xid>>
     ELSE /\ xid <= MaxXid
          /\ xid' = xid + 1
          /\ tx' = [tx EXCEPT ![c].step = "folded", ![c].xid = xid,
              ![c].folds = TRUE,
              ![c].walked = IF is_change /\ ~is_busy THEN next ELSE place,
              ![c].counted = IF is_change /\ ~is_busy THEN count ELSE in_flight,
              ![c].moves = is_change /\ ~is_busy,
              ![c].place = IF is_change /\ ~is_busy THEN next ELSE @,
              ![c].in_flight = IF is_change /\ ~is_busy THEN count ELSE @,
              ![c].folded = IF is_busy THEN {} ELSE read,
              ![c].tick = [until |-> xid, again |-> IF TickKeepsAgain THEN again ELSE {}]]
          /\ channel_lock' = IF is_change /\ ~is_busy THEN c ELSE channel_lock
  /\ UNCHANGED <<message, note, tick, place, in_flight, fold_lock, message_lock, creating, settling, held, ghosts, disk, crashes>>

\* Nothing loud was told: a dequeue goes on without a fold. Whoever is not the folder never folds.
GoOn(c) ==
  /\ tx[c].step = "begun"
  /\ ~tx[c].is_folder \/ \A n \in note : IsUnread(n) => n.quiet
  /\ tx' = [tx EXCEPT ![c].step = "folded", ![c].walked = place, ![c].counted = in_flight]
  /\ UNCHANGED <<stored, locks, creating, settling, held, ghosts, disk, crashes>>

\* A transaction gets its id with the first thing that it writes.
Write(c) ==
  /\ tx[c].xid # 0 \/ xid <= MaxXid
  /\ xid' = IF tx[c].xid = 0 THEN xid + 1 ELSE xid
XidOf(c) == IF tx[c].xid = 0 THEN xid ELSE tx[c].xid

\* ring_lease: the ring was walked before; the first message that waits and that nobody has locked. With a
\* limit, the channel is locked first, and counted after.
Take(c) ==
  LET stands == PlaceOf(c)
      count == IF LooksAfterLock THEN CountOf(c) ELSE tx[c].counted
      line == {m \in Messages : m >= tx[c].walked.floor /\ message[m].state = "waiting"
        /\ message_lock[m] = Nobody}
      first == Least(line, Last)
      full == count + 1 >= MaxConcurrency
  IN
  /\ tx[c].step = "folded"
  /\ tx[c].walked.seat
  /\ line # {}
  /\ Write(c)
  /\ message_lock' = [message_lock EXCEPT ![first] = c]
  /\ IF MaxConcurrency = 0
     THEN /\ tx' = [tx EXCEPT ![c].step = "taken", ![c].xid = XidOf(c), ![c].taken = first]
          /\ UNCHANGED channel_lock
     ELSE /\ MayLock(c)
          /\ count < MaxConcurrency
          /\ channel_lock' = c
          /\ tx' = [tx EXCEPT ![c].step = "taken", ![c].xid = XidOf(c), ![c].taken = first,
               ![c].moves = TRUE,
               ![c].in_flight = count + 1,
               ![c].place = IF full /\ stands.seat THEN [stands EXCEPT !.seat = FALSE, !.hold = "saturated"]
                            ELSE stands]
  /\ UNCHANGED <<message, note, tick, place, in_flight, fold_lock, creating, settling, held, ghosts, disk, crashes>>

\* note_take: nobody is in the ring, and the only note that is to be folded tells of one message, which is
\* taken straight off it.
NoteTake(c) ==
  LET read == {n \in note : IsUnread(n) /\ ~n.quiet}
  IN
  /\ tx[c].step = "begun"
  /\ tx[c].is_folder
  /\ MaxConcurrency = 0
  /\ ~place.seat /\ place.hold = "none"
  /\ Cardinality(read) = 1
  /\ \E n \in read :
       /\ n.single /\ n.xid >= tick.until
       /\ message[n.message].state = "waiting"
       /\ message_lock[n.message] = Nobody
       /\ message_lock' = [message_lock EXCEPT ![n.message] = c]
       /\ tx' = [tx EXCEPT ![c].step = "reviewed", ![c].xid = xid, ![c].taken = n.message,
            ![c].folded = {n}]
  /\ Write(c)
  /\ UNCHANGED <<message, note, tick, place, in_flight, fold_lock, channel_lock, creating, settling,
       held, ghosts, disk, crashes>>

\* channel_review: takes the seat of a channel where nothing waits, and moves the floor up. What another
\* call has locked and not yet committed still shows as waiting.
Review(c) ==
  LET stands == PlaceOf(c)
      line == {m \in Messages : m >= stands.floor /\ message[m].state = "waiting" /\ m # tx[c].taken}
  IN
  /\ tx[c].step \in {"folded", "taken"}
  /\ tx[c].is_folder \/ ~OnlyFolderReviews
  /\ MayLock(c)
  /\ stands.seat \/ stands.hold # "none"
  /\ stands.floor # Least(line, Last)   \* else nothing changes
  /\ Write(c)
  /\ channel_lock' = c
  /\ tx' = [tx EXCEPT ![c].step = "reviewed", ![c].xid = XidOf(c), ![c].moves = TRUE, ![c].in_flight = CountOf(c),
      ![c].place = [seat |-> stands.seat /\ line # {}, hold |-> stands.hold,
        floor |-> Least(line, Last)]]
  /\ UNCHANGED <<message, note, tick, place, in_flight, fold_lock, message_lock, creating, settling, held, ghosts, disk, crashes>>

Release(c) ==
  /\ tx' = [tx EXCEPT ![c] = Idle]
  /\ fold_lock' = IF fold_lock = c THEN Nobody ELSE fold_lock
  /\ channel_lock' = IF channel_lock = c THEN Nobody ELSE channel_lock

\* commit_relaxed: a crash may forget it.
DequeueCommit(c) ==
  LET t == tx[c]
      token == IF TokenIsRandom THEN serial + 1 ELSE message[t.taken].attempt + 1
  IN
  /\ t.step \in {"folded", "taken", "reviewed"}
  /\ place' = IF t.moves THEN t.place ELSE place
  /\ in_flight' = IF t.moves THEN t.in_flight ELSE in_flight
  /\ note' = note \ t.folded
  /\ tick' = IF t.folds THEN t.tick ELSE tick
  /\ IF t.taken = 0
     THEN UNCHANGED <<message, message_lock, held, serial>>
     ELSE /\ message' = [message EXCEPT ![t.taken] = [state |-> "leased", token |-> token,
               slot |-> IF MaxConcurrency > 0 THEN 1 ELSE 0, attempt |-> @.attempt + 1,
               serial |-> serial + 1]]
          /\ message_lock' = [message_lock EXCEPT ![t.taken] = Nobody]
          /\ held' = held \cup {[consumer |-> c, message |-> t.taken, token |-> token,
               serial |-> serial + 1]}
          /\ serial' = serial + 1
  /\ Release(c)
  /\ UNCHANGED <<xid, creating, settling, accepted, created, crashes>>
  /\ Relaxed

DequeueRollback(c) ==
  /\ tx[c].step # "idle"
  /\ Release(c)
  /\ message_lock' = [m \in Messages |->
      IF message_lock[m] = c /\ m = tx[c].taken THEN Nobody ELSE message_lock[m]]
  /\ UNCHANGED <<stored, creating, settling, held, ghosts, disk, crashes>>

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
  /\ UNCHANGED <<message, note, tick, place, in_flight, fold_lock, channel_lock, creating, tx, ghosts,
       disk, crashes>>

CompleteCommit(c) ==
  LET h == settling[c].lease
      m == h.message
      slots == IF CountsOnce THEN message[m].slot ELSE 2 * message[m].slot
  IN
  /\ settling[c].step = "open"
  /\ message' = [message EXCEPT ![m].state = "gone", ![m].token = 0, ![m].slot = 0]
  /\ note' = IF slots = 0 THEN note
       ELSE note \cup {[xid |-> settling[c].xid, message |-> 0, slots |-> slots, quiet |-> FALSE,
         single |-> FALSE]}
  /\ accepted' = accepted \cup {[message |-> m, meant |-> h.serial, ended |-> message[m].serial]}
  /\ settling' = [settling EXCEPT ![c] = Idle]
  /\ message_lock' = [message_lock EXCEPT ![m] = Nobody]
  /\ UNCHANGED <<tick, place, in_flight, xid, fold_lock, channel_lock, creating, tx, held, serial,
       created, crashes>>
  /\ IF CompleteIsDurable THEN Durably ELSE Relaxed

CompleteRollback(c) ==
  /\ settling[c].step = "open"
  /\ settling' = [settling EXCEPT ![c] = Idle]
  /\ message_lock' = [message_lock EXCEPT ![settling[c].lease.message] = Nobody]
  /\ UNCHANGED <<stored, fold_lock, channel_lock, creating, tx, held, ghosts, disk, crashes>>

\* lease_expire, message_fail and message_defer: back into the line, told of with the slot. Its lessee
\* does not know.
Expire(m) ==
  /\ message[m].state = "leased"
  /\ message_lock[m] = Nobody
  /\ xid <= MaxXid
  /\ message' = [message EXCEPT ![m].state = "waiting", ![m].token = 0, ![m].slot = 0]
  /\ note' = note \cup {[xid |-> xid, message |-> m, slots |-> message[m].slot, quiet |-> FALSE,
      single |-> FALSE]}
  /\ xid' = xid + 1
  /\ UNCHANGED <<tick, place, in_flight, locks, creating, tx, settling, held, ghosts, crashes>>
  /\ Relaxed

\* The server comes back to the last durable commit. What was open is rolled back; who had a lease
\* goes on believing in it.
Crash ==
  /\ crashes < Crashes
  /\ crashes' = crashes + 1
  /\ message' = disk.message
  /\ note' = disk.note
  /\ tick' = disk.tick
  /\ place' = disk.place
  /\ in_flight' = disk.in_flight
  /\ xid' = disk.xid
  /\ fold_lock' = Nobody
  /\ channel_lock' = Nobody
  /\ message_lock' = [m \in Messages |-> Nobody]
  /\ creating' = [m \in Messages |-> IF creating[m].step = "open" THEN [step |-> "done"] ELSE creating[m]]
  /\ tx' = [c \in Consumers |-> Idle]
  /\ settling' = [c \in Consumers |-> Idle]
  /\ UNCHANGED <<held, ghosts, disk>>

Next ==
  \/ \E m \in Messages : Create(m) \/ CreateCommit(m) \/ CreateRollback(m) \/ Expire(m)
  \/ \E c \in Consumers : Begin(c) \/ Fold(c) \/ GoOn(c) \/ Take(c) \/ NoteTake(c) \/ Review(c)
       \/ DequeueCommit(c) \/ DequeueRollback(c) \/ CompleteCommit(c) \/ CompleteRollback(c)
  \/ \E h \in held : Complete(h)
  \/ Crash

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* queue_check's reachable: a message that waits will be found. It lies at or above the floor, or a note
\* that will be read tells of it; and the channel has a seat, or such a note gives it one, or it is held
\* until a slot is free, and one will be.
Reachable ==
  \A m \in Messages : message[m].state = "waiting" =>
    /\ m >= place.floor \/ \E n \in note : IsUnread(n) /\ n.message # 0 /\ n.message <= m
    /\ \/ place.seat
       \/ place.hold = "none" /\ \E n \in note : IsUnread(n) /\ n.message # 0
       \/ place.hold = "saturated" /\
            (\/ \E other \in Messages : message[other].slot = 1
             \/ \E n \in note : IsUnread(n) /\ n.slots > 0)

\* queue_check's in_flight: the count is the leases that count, and those whose end is not folded yet.
Counted ==
  in_flight = Cardinality({m \in Messages : message[m].slot = 1}) + Sum(note)

\* Rule 5: never more than max_concurrency.
Limited ==
  MaxConcurrency > 0 => Cardinality({m \in Messages : message[m].state = "leased"}) <= MaxConcurrency

\* Rule 7: a completion ends the lease that was meant.
Fenced == \A a \in accepted : a.meant = a.ended

\* What was answered is so, whatever happened since.
Kept ==
  /\ \A m \in created : message[m].state # "none"
  /\ \A a \in accepted : message[a.message].state = "gone"

\* A message that nobody can have committed is not there.
NoGhost == \A m \in Messages : message[m].state # "none" => m \in created
=============================================================================
