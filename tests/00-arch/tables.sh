#!/bin/sh
# The tables (.def) feed parser, help and reference pages; nothing of them may be missing or drift.
# B is the build folder (default build). Rules are also broken on purpose, in a copy.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/00-arch/lib.sh
B=${B:-build}
freshet=$B/freshet
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# ---- what the tables say ------------------------------------------------------------------------
commands() { sed -n 's/^COMMAND("\([^"]*\)".*/\1/p' cli/commands.def; }
settings() { sed -n 's/^SETTING_[A-Z]*(\([a-z0-9_]*\),.*/\1/p' "${1:-core/settings.def}"; }
# Options of one command, from the table and from the flags of `source add`.
flags() { sed -n 's/^FLAG("\([^"]*\)".*/\1/p' cli/source_flags.def; }

# ---- help -------------------------------------------------------------------------------------
missing_in_help() { # missing_in_help FILE: commands that the text does not list
    commands | while IFS= read -r name; do
        grep -q -E "^  $name  " "$1" || echo "$name"
    done
}
help_of_each() {
    commands | while IFS= read -r name; do
        # shellcheck disable=SC2086 # a command of two words
        "$freshet" $name --help >"$work/one" 2>&1 || echo "$name --help: exit $?"
        grep -q "^Usage: freshet \[-C DIR\] $name" "$work/one" || echo "$name --help names another command"
        grep -q -- '--json' "$work/one" || echo "$name --help lacks --json"
    done
}
missing_flags() {
    "$freshet" source add --help >"$work/one"
    flags | while IFS= read -r name; do
        grep -q -E "^  --$name( |\$)" "$work/one" || echo "--$name"
    done
}

# ---- settings ---------------------------------------------------------------------------------
# Every setting is in the sample that init writes, and the sample parses.
missing_in_sample() { # missing_in_sample FILE SETTINGS_DEF
    settings "$2" | while IFS= read -r name; do
        grep -q "\"$name\"" "$1" || echo "$name"
    done
}

# ---- reference pages ----------------------------------------------------------------------------
drift() { # drift PAGE FILE
    "$freshet" docs "$1" | diff -u "$2" - | head -n 20
}

# ---- sources: every field of the declaration has a flag, or is told here why not -----------------
fields_without_flag() {
    sed -n -E 's/^(TEXT|NUMBER|OTHER)\(([a-z0-9_]+).*/\2/p' ledger/source_fields.def |
        while IFS= read -r field; do
            case $field in
            limits) continue ;;                              # its members have flags
            probe | manifest | sse) continue ;; # structured: --file and import
            esac
            grep -q "\"$field\"" cli/source_flags.def || echo "$field"
        done
}

# ---- replay: every kind of row that is written can be made again, or is kept as a record -----------
kinds_unknown() { # kinds_unknown REPLAY_DEF
    sed -n 's/^X("\([^"]*\)".*/\1/p' "$1" | sort >"$work/known"
    cat ledger/*.c handler/*.c api/*.c cli/*.c | tr '\n' ' ' |
        grep -oE '(replay_append|approval_log|record_spec)\([^;]*;' |
        grep -oE '"[a-z]+(\.[a-z]+)?"' | tr -d '"' | sort -u | comm -23 - "$work/known"
}

# ---- programs: what is built beside freshet is started, or called, and missed by doctor ------------
programs_missing() { # programs_missing PROGRAMS_DEF
    sed -n 's/^PROGRAMS := //p' Makefile | tr ' ' '\n' | grep -v -x -e freshet -e freshet-upstream |
        while IFS= read -r program; do
            grep -q "\"$program\"" "$1" || echo "$program"
        done
}

# ---- statements: each stands under a file that runs it, so somebody does ---------------------------
statements_astray() { # statements_astray STATEMENTS_DEF: "file statement"
    sed -n -e 's/^\/\* ---- \([a-z_]*\.c\).*/\1/p' -e 's/^X(\([A-Z0-9_]*\),.*/\1/p' "$1" |
        awk '/\.c$/ { file = $0; next } { print file, $0 }' | sort >"$work/stand"
    grep -o -E '\<Q_[A-Z0-9_]+' ledger/*.c | sed -e 's|^ledger/||' -e 's/:Q_/ /' | sort -u |
        comm -23 "$work/stand" -
}

"$freshet" --help >"$work/help"
finding "--help lists every command" "$(missing_in_help "$work/help")"
finding "every command has its own --help" "$(help_of_each)"
finding "source add --help lists every flag" "$(missing_flags)"
finding "every field of a source has a flag" "$(fields_without_flag)"
finding "every kind of the replay log is in replay.def" "$(kinds_unknown handler/replay.def)"
finding "every program is in programs.def" "$(programs_missing cli/programs.def)"
finding "every statement stands under a file that runs it" "$(statements_astray ledger/statements.def)"
if "$freshet" init "$work/instance" >/dev/null 2>"$work/err"; then
    pass "init makes an instance"
else
    fail "init makes an instance: $(cat "$work/err")"
fi
finding "the sample of the settings holds every row" "$(missing_in_sample "$work/instance/freshet.json" core/settings.def)"
if "$freshet" -C "$work/instance" config list >"$work/list" 2>&1; then
    pass "the sample parses"
else
    fail "the sample parses: $(cat "$work/list")"
fi
if [ "$(settings | wc -l)" -eq "$(wc -l <"$work/list")" ]; then
    pass "config list has one row per setting"
else
    fail "config list has one row per setting"
fi
finding "docs/SETTINGS.md is what 'freshet docs settings' prints" "$(drift settings docs/SETTINGS.md)"
finding "docs/CLI.md is what 'freshet docs cli' prints" "$(drift cli docs/CLI.md)"
finding "docs/OUTCOMES.md is what 'freshet docs outcomes' prints" "$(drift outcomes docs/OUTCOMES.md)"
finding "docs/POLICY.md is what 'freshet docs policy' prints" "$(drift policy docs/POLICY.md)"
finding "docs/SOURCES.md is what 'freshet docs sources' prints" "$(drift sources docs/SOURCES.md)"

# ---- would it be noticed? -----------------------------------------------------------------------
noticed() { # noticed WHAT FINDINGS
    if [ -n "$2" ]; then pass "noticed: $1"; else fail "not noticed: $1"; fi
}
grep -v '^  doctor ' "$work/help" >"$work/less"
noticed "a command missing in --help" "$(missing_in_help "$work/less")"
grep -v '"lease_s"' "$work/instance/freshet.json" >"$work/less"
noticed "a setting missing in the sample" "$(missing_in_sample "$work/less" core/settings.def)"
{ cat core/settings.def; echo 'SETTING_INT(invented, 1, 1, 1, "x")'; } >"$work/more.def"
noticed "a new row that the sample lacks" "$(missing_in_sample "$work/instance/freshet.json" "$work/more.def")"
grep -v freshet-outbox cli/programs.def >"$work/less.def"
noticed "a program that nobody starts" "$(programs_missing "$work/less.def")"
sed 's/^X(V_TWICE,/X(V_THRICE,/' ledger/statements.def >"$work/more.def"
noticed "a statement that nobody runs" "$(statements_astray "$work/more.def")"
sed 's/---- verify.c/---- gone.c/' ledger/statements.def >"$work/more.def"
noticed "a statement under another file" "$(statements_astray "$work/more.def")"
for kind in waiver.add level.approve source.put run.dead dead.drop; do
    grep -v "\"$kind\"" handler/replay.def >"$work/less.def"
    noticed "a kind that replay does not know: $kind" "$(kinds_unknown "$work/less.def")"
done
sed 's/8080/8081/' docs/SETTINGS.md >"$work/old"
noticed "a reference page that drifted" "$(drift settings "$work/old")"
summary
