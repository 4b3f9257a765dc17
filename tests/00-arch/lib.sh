# Shared by the tests of this folder: counting, and C source without comments and strings.
# shellcheck shell=sh
passed=0
failed=0

pass() {
    passed=$((passed + 1))
    echo "ok - $*"
}
fail() {
    failed=$((failed + 1))
    echo "not ok - $*"
}
# finding RULE TEXT...: ok when TEXT is empty, else what was found is shown.
finding() {
    rule=$1
    shift
    if [ -z "$*" ]; then
        pass "$rule"
    else
        fail "$rule"
        printf '%s\n' "$*" | sed 's/^/#   /'
    fi
}
summary() {
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

# code WHAT FILE...: "file:line:text" of each line that is not blank after comments were taken out.
# WHAT calls: string and character literals are emptied too. WHAT strings: only the literals are left.
code() {
    what=$1
    shift
    [ $# -gt 0 ] || return 0
    awk -v what="$what" '
        FNR == 1 { inside = 0 }
        {
            line = $0; out = ""; lit = ""
            while (line != "") {
                if (inside) {
                    end = index(line, "*/")
                    if (!end) { line = ""; break }
                    line = substr(line, end + 2); inside = 0
                    continue
                }
                two = substr(line, 1, 2); one = substr(line, 1, 1)
                if (two == "/*") { inside = 1; line = substr(line, 3) }
                else if (two == "//") line = ""
                else if (one == "\"" || one == "\047") {
                    for (i = 2; i <= length(line); i++) {
                        c = substr(line, i, 1)
                        if (c == "\\") i++
                        else if (c == one) break
                    }
                    if (one == "\"") lit = lit " " substr(line, 1, i)
                    out = out one one
                    line = substr(line, i + 1)
                } else { out = out one; line = substr(line, 2) }
            }
            text = what == "strings" ? lit : out
            # An include names its file in quotes; that is code here.
            if (what == "calls" && $0 ~ /^[ \t]*#[ \t]*include/) text = $0
            if (text ~ /[^ \t]/) print FILENAME ":" FNR ":" text
        }' "$@"
}
