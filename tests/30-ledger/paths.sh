# shellcheck shell=sh disable=SC2034,SC2154,SC2016 # shared with faults.sh, which expands the rows
# The ways through the handler that tests/30-ledger/faults.sh disturbs. A way is one row here, and a
# function prepare_NAME that brings the instance $dir before it; the row's command is what is disturbed.
# $event, $delta and $copy may be used in it: the event or delta that prepare_NAME sets with `remember`,
# and a folder that is not there. Where repeat_NAME is there, it
# says whether an interrupted command has to be given again. Sourced by faults.sh.
paths='
promote   work --drain
batch     work --drain
fetch     work --drain
hold      work --drain
approve   approve $event --reviewer Reviewer --note fine
resume    work --drain
reject    reject $event --reviewer Reviewer --note no
gone      work --drain
byte_only work --drain
rollback  rollback $delta --reason wrong
dead      work --drain
retry     dlq retry $event
drop      dlq drop $event --reason never
listing   work --drain
gc        gc
rebuild   rebuild
backup    backup $copy
'

add() { # ID FILE [OPTION VALUE]...
    id=$1 file=$2
    shift 2
    quiet source add --id "$id" --url "$u/$file" --title "Title of $id" --license CC0-1.0 --collection paths "$@"
}
found() { quiet check all; }
drained() { quiet work --drain; }
unspooled_of() { rm -f "$dir/spool/$(printf %s "$1" | sha256sum | cut -d' ' -f1)"; }
unspooled() { rm -f "$dir"/spool/*; }
held() { remember event "$(ask "SELECT event_id FROM inbox WHERE state = 'held'")"; }
dead() { remember event "$(ask "SELECT event_id FROM inbox WHERE state = 'dead'")"; }
two_versions() {
    add one one.json
    found
    drained
    advance /one.json
    found
}

prepare_promote() { two_versions; }
# Together: enough for the syncs of the whole filesystem, from spool and upstream, with a no-op, one on hold
# and a candidate that fails.
prepare_batch() {
    for n in 0 1 2 3 4 5 6 7 8 9; do add "many-$n" "many-$n.json"; done
    add withheld one.json --sensitivity restricted
    add lost a.json
    add noise noise.geojson --feature-key id
    found
    unspooled_of '{"many":3}'
    control set '{"path":"/a.json","status":410}'
    unspooled_of '["a"]'
}
prepare_fetch() {
    two_versions
    unspooled
}
prepare_hold() {
    add one one.json --sensitivity restricted
    found
}
prepare_approve() {
    prepare_hold
    drained
    held
}
prepare_resume() {
    prepare_approve
    quiet approve "$event" --reviewer Reviewer --note fine
}
prepare_reject() { prepare_approve; }
prepare_gone() {
    at 2026-06-29T10:00:00Z add one one.json
    at 2026-06-29T10:00:00Z found
    at 2026-06-29T10:00:00Z drained
    control set '{"path":"/one.json","status":404}'
    at 2026-06-30T10:00:00Z quiet check all
    at 2026-07-01T11:00:00Z quiet check all
    found
}
prepare_byte_only() {
    add noise noise.geojson --feature-key id
    found
    drained
    advance /noise.geojson
    found
}
prepare_rollback() {
    two_versions
    drained
    remember delta "$(ask "SELECT delta_id FROM ledger WHERE version = 2")"
}
# An order that is in the ledger is carried out without being given again.
repeat_rollback() { [ "$(ask "SELECT count(*) FROM rollbacks")" = 0 ]; }
prepare_dead() {
    quiet config set max_attempts 1
    two_versions
    unspooled
    control set '{"path":"/one.json","status":503}'
}
prepare_retry() {
    prepare_dead
    drained
    dead
    control set '{"path":"/one.json","status":200}'
}
prepare_drop() { prepare_retry; }
prepare_listing() {
    add index index.json --detector manifest
    found
}
prepare_gc() {
    two_versions
    drained
    garbage=$dir/store/public/sha256/ab/cd
    mkdir -p "$garbage"
    echo garbage >"$garbage/abcd000000000000000000000000000000000000000000000000000000000000"
    touch -d 2026-01-01 "$garbage"/*
}
prepare_rebuild() {
    two_versions
    drained
    sqlite3 "$dir/ledger.db" 'DELETE FROM public_changes; DELETE FROM public_items'
}
prepare_backup() {
    two_versions
    drained
}
