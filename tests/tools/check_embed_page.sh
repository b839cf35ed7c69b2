#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every code block of a page occurs letter for letter in a source file, so that readers copy compiled code. With
# LANGUAGE, only blocks of that language are checked.
# usage: check_embed_page.sh PAGE SOURCE[,SOURCE...] [LANGUAGE]
set -eu
page=$1
source=$2

awk -v source="$source" -v language="${3-}" '
    BEGIN {
        nfiles = split(source, file, ",")
        for (f = 1; f <= nfiles; f++)
            while ((getline line < file[f]) > 0)
                text = text line "\n"
        if (text == "") {
            print source ": cannot be read"
            bad = 1
            exit
        }
    }
    /^```/ && !inside {
        inside = 1
        skip = language != "" && $0 != "```" language
        start = FNR
        block = ""
        next
    }
    /^```/ {
        inside = 0
        if (skip)
            next
        blocks++
        # A single line may be part of a line; several lines are whole lines.
        wanted = gsub(/\n/, "\n", block) > 1 ? "\n" block : substr(block, 1, length(block) - 1)
        if (block == "" || index("\n" text, wanted) == 0) {
            print FILENAME ":" start ": this code is not in " source
            bad = 1
        }
        next
    }
    inside { block = block $0 "\n" }
    END {
        if (inside) {
            print FILENAME ":" start ": this block does not end"
            bad = 1
        }
        if (!bad && blocks < (language == "" ? 2 : 1)) {
            print FILENAME ": holds no code"
            bad = 1
        }
        if (!bad)
            print blocks " blocks of code are in " source
        exit bad
    }' "$page"
