# SPDX-License-Identifier: Apache-2.0
# `sluice train`: learns a tree from a table, says how good it is, and says what is wrong with a bad
# table, and where.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	DATA=${SOURCE_DIR:-.}/tests/data/learn
	cd "$BATS_TEST_TMPDIR"
}

# usage: refused STATUS MESSAGE ARGUMENT...
refused() {
	local want=$1 message=$2
	shift 2
	run --separate-stderr "$SLUICE" train "$@"
	[ "$status" -eq "$want" ] || { echo "status $status: $stderr"; false; }
	[ "$stderr" = "sluice train: $message" ] || { echo "said: $stderr"; false; }
	[ "$output" = "" ]
}

@test "the tree of iris is that of J48" {
	run --separate-stderr "$SLUICE" train "$DATA/iris.csv"
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[[ "$output" == *"
petalwidth <= 0.6: Iris-setosa (Iris-setosa 50)
petalwidth > 0.6
|   petalwidth <= 1.7
"* ]]
	[[ "$output" == *"5 leaves, 9 nodes. Wrong in 3 of the 150 rows it was learnt from (2.00%),"* ]]
	[[ "$output" == *"always Iris-setosa "*" 50  33%"* ]]
}

@test "the shipped runs give T1, T2 and T3, and the tables of the paper" {
	run --separate-stderr "$SLUICE" train "$DATA/runs.csv"
	[ "$status" -eq 0 ]
	[[ "$stderr" == "sluice train: warning: $DATA/runs.csv:"*" such rows." ]]
	[[ "$output" == *"200 rows, best (from the times): "* ]]
	[[ "$output" == *"T2 by op, files, spatiality, size, ratio"* ]]
	for line in "always to " "always sjf" "always aioli" "T1 " "T2 " "T3 " "T2, crossed" "oracle"; do
		grep -q "^$line.*%" <<<"$output" || { echo "no line '$line'"; false; }
	done
	[[ "$output" == *"  faster than aioli, up to "* ]]
	! awk 'length > 80' <<<"${output#*$'\n'}" | grep . || false
}

@test "JSON says the same as the text" {
	"$SLUICE" train --json "$DATA/runs.csv" 2>/dev/null >j
	jq -e '.rows == 200 and .class_from_times and .chosen == "T2" and (.trees | length) == 3 and
		([.classes[]] | add) == 200 and
		(.solutions[-1] | .name == "oracle" and .correct == 200 and .slower == 0) and
		all(.solutions[]; .correct <= .rows and .over_fastest_mean >= 0) and
		(.solutions | map({(.name): .correct}) | add) as $c |
			(.trees[1].wrong_training == 200 - $c.T2) and
			(.trees[1].wrong_cross_validation == 200 - $c["T2, crossed"])' j
	wrong=$(jq '.trees[1].wrong_cross_validation' j)
	"$SLUICE" train "$DATA/runs.csv" 2>/dev/null | grep "^in $wrong ("
}

@test "the same seed gives the same folds, another seed others" {
	"$SLUICE" train --json "$DATA/labor.arff" >a
	"$SLUICE" train --json --seed 1 --folds 10 "$DATA/labor.arff" >b
	cmp a b
	for seed in 2 3 4 5 6; do
		"$SLUICE" train --json --seed $seed "$DATA/labor.arff" | jq .trees[0].wrong_cross_validation
	done | sort -u >others
	[ "$(wc -l <others)" -gt 1 ]
}

@test "rows can be held out, by processes and by device" {
	"$SLUICE" train --json --train procs=8 --test procs=16 "$DATA/runs.csv" 2>/dev/null |
		jq -e '.rows == 102 and .test_rows == 98 and .train == "procs=8" and
			all(.trees[]; .wrong_test > 0 and .wrong_reversed > 0) and
			(.solutions[] | select(.name == "T2") | .rows) == 98'
	"$SLUICE" train --json --train 'device!=edel' --test device=edel,op=read "$DATA/runs.csv" \
		2>/dev/null | jq -e '.rows == 152 and .test_rows == 24'
	"$SLUICE" train --train procs=8 --test procs=16 "$DATA/runs.csv" 2>/dev/null |
		grep -A1 "learnt with procs=8, tested with procs=16"
}

@test "the tree is written as a file, and a failure leaves the old one" {
	"$SLUICE" train -o t.tree "$DATA/labor.arff" >/dev/null
	[ "$(sed -n 2p t.tree)" = "sluice-tree 1" ]
	grep -q "^wage-increase-first-year <= 2.5: bad (bad 13, good 2.26" t.tree
	[ "$(ls)" = t.tree ]
	refused 1 "cannot write none/t.tree: No such file or directory." -o none/t.tree "$DATA/iris.csv"
	# What a link leads to is replaced, not the link; what is no file is written to.
	ln -s t.tree link
	"$SLUICE" train -o link "$DATA/iris.csv" >/dev/null
	[ -L link ]
	grep -q "^petalwidth <= 0.6: Iris-setosa" t.tree
	"$SLUICE" train -o /dev/stdout "$DATA/iris.csv" | grep -qx "sluice-tree 1"
}

@test "a tree that is worse than one choice for all is told" {
	# Learnt by count from disks it loses more than always aioli.
	"$SLUICE" train --leaves count -T 'device!=edel' "$DATA/runs.csv" -o t.tree >report 2>/dev/null
	tr '\n' ' ' <report | grep -q "In rows that it has not seen T2 takes 4.27% more time than the \
fastest, always aioli 3.05%: WORSE. Use order=aioli instead, or learn from more runs."
	grep -qx "# Worse than always aioli in rows that it has not seen." t.tree
	"$SLUICE" train --leaves count -T 'device!=edel' --json "$DATA/runs.csv" 2>/dev/null >j
	jq -e '.leaves == "count" and (.verdicts | map({(.rows): .}) | add |
		(.crossed | .tree > .always_constant and .constant == "aioli" and .recommended == "aioli") and
		(.["new device"] | .tree > .always_constant and .recommended == "aioli"))' j
	# The figures are those of the table.
	jq -e '(.verdicts[1].tree == (.solutions[] | select(.name == "T2, new device") | .over_fastest_mean)) and
		(.verdicts[1].always_constant == (.solutions[] | select(.name == "always aioli") | .over_fastest_mean))' j
	"$SLUICE" train --leaves count -T 'device!=edel' "$DATA/runs.csv" -o t.tree >report 2>/dev/null
	grep -q "Use order=aioli on other devices, or learn" report
	grep -qx "# Worse than always aioli in rows of a device that it has not seen." t.tree
}

@test "the shipped tree is better than one choice for all, also on a device that it has not seen" {
	"$SLUICE" train --json "$DATA/runs.csv" 2>/dev/null >j
	jq -e '.leaves == "time" and (.verdicts | length == 2 and all(.by == "over_fastest_mean" and
		.tree < .always_constant and .recommended == "T2"))' j
	! grep -q Worse "$DATA/../../../sched/auto.tree" || false
}

@test "without times mistakes are compared; one device is no new one" {
	"$SLUICE" train --json "$DATA/labor.arff" |
		jq -e '.leaves == "count" and (.verdicts | length == 1 and (.[0] | .by == "wrong" and .constant == "good" and
			.tree < .always_constant and .recommended == "tree"))'
	# Chance: nothing can be learnt.
	{ echo a,device,best; for i in {1..40}; do echo "$i,x,$([ $(((i * 7919 + i * i * 104729) % 101)) -lt 35 ] && echo sjf || echo to)"; done; } >c.csv
	"$SLUICE" train --unpruned --smallest 1 --json c.csv |
		jq -e '.verdicts | length == 1 and (.[0] | .rows == "crossed" and .recommended == "to")'
}

@test "leaves choose by time, or by count" {
	# aioli is best twice of three times, and once takes far longer.
	printf '%s\n' op,files,spatiality,size,ratio,time_to,time_aioli >t.csv
	for i in 1 2 3 4; do
		echo "read,1,contiguous,small,2,1.05,1" >>t.csv
		[ $i -gt 2 ] || echo "read,1,contiguous,small,2,1,1.4" >>t.csv
		echo "write,1,contiguous,small,2,1,2" >>t.csv
	done
	choice() { "$SLUICE" train --json "$@" t.csv 2>/dev/null | jq -r '.trees[0].text' | grep -E "read|^:"; }
	[[ "$(choice --leaves count)" == *"aioli (to 2, aioli 4)" ]]
	[[ "$(choice)" == ": to (to 6, aioli 4)" ]]
	refused 2 "--leaves must be time or count, not 'x'. See 'sluice train --help'." --leaves x t.csv
	refused 1 "$DATA/labor.arff:1: --leaves time needs a column time_bad." --leaves time "$DATA/labor.arff"
}

@test "options of the learner change the tree" {
	leaves() { "$SLUICE" train --json "$@" "$DATA/labor.arff" | jq '.trees[0].leaves'; }
	[ "$(leaves)" -eq 3 ]
	[ "$(leaves --unpruned)" -gt 3 ]
	[ "$(leaves --smallest 30)" -eq 1 ]
	[ "$(leaves --confidence 0.0001)" -le 3 ]
	"$SLUICE" train --json --attributes vacation,duration "$DATA/labor.arff" |
		jq -e '.trees[0].attributes == ["vacation", "duration"]'
	"$SLUICE" train --json --class vacation --smallest 4 "$DATA/labor.arff" 2>err | jq -e '.rows == 51'
	grep -q "the class is unknown; 6 such rows are left out." err
}

@test "best comes from the times, with a margin" {
	printf '%s\n' op,files,spatiality,size,ratio,time_to,time_aioli \
		read,1,contiguous,small,2,1.00,0.995 read,2,contiguous,small,2,1.0,0.5 \
		read,3,contiguous,small,2,1.0,0.9 read,4,contiguous,small,2,1.0,1.2 >t.csv
	"$SLUICE" train --json t.csv | jq -e '.classes == {"to": 2, "aioli": 2}'
	"$SLUICE" train --json --margin 0 t.csv | jq -e '.classes == {"to": 1, "aioli": 3}'
	"$SLUICE" train --json --margin 15 t.csv | jq -e '.classes == {"to": 3, "aioli": 1}'
}

@test "times are compared without those of to, too" {
	cut -d, -f1-14,16- "$DATA/runs.csv" >t.csv # all but time_to
	! grep -q time_to, t.csv || false
	"$SLUICE" train --json t.csv 2>/dev/null >j
	jq -e '.leaves == "time" and (.verdicts | length == 2 and all(.by == "over_fastest_mean" and .constant == "aioli")) and
		all(.solutions[]; .timed == 200 and .faster == null)' j
	run -0 --separate-stderr "$SLUICE" train t.csv
	[[ "$output" != *"faster than"* ]]
	[[ "$output" == *"more time than the"*"always"*"aioli"* ]]
}

@test "what has no times is left out of means" {
	printf '%s\n' a,best,time_to,time_sjf 1,mlf,1,2 1,mlf,1,2 1,mlf,1,2 2,aioli,1,2 2,aioli,1,2 2,aioli,1,2 3,sjf,2,1 >t.csv
	run -0 "$SLUICE" train t.csv --smallest 3
	[[ "$output" != *nan* ]] || { echo "$output"; false; }
	grep -q '^  faster than sjf, up to  *-$' <<<"$output"
}

@test "auto is no choice of a tree, nor the fastest that others are compared with" {
	printf '%s\n' op,files,spatiality,size,ratio,time_to,time_sjf,time_auto,'"time_auto,correct=no"' \
		read,1,contiguous,small,2,1,2,0.5,0.5 write,1,contiguous,small,2,2,1,0.5,0.5 \
		read,2,contiguous,small,2,1,2,0.5,0.5 write,2,contiguous,small,2,2,1,0.5,0.5 >t.csv
	"$SLUICE" train --json t.csv -o t.tree |
		jq -e '.classes == {"to": 2, "sjf": 2} and (.solutions[-1] | .name == "oracle" and .over_fastest_mean == 0)'
	grep -qx "class: to sjf" t.tree
}

@test "bad tables are refused with file and line" {
	: >empty.csv
	refused 1 "empty.csv:1: the table is empty: the first line must name the columns." empty.csv
	printf 'a,b\n' >head.csv
	refused 1 "head.csv:1: the table has no rows." head.csv
	printf 'a,best\n1,to\n2,to\n' >one.csv
	refused 1 "one.csv:2: best is 'to' in every row: there is only one choice." one.csv
	printf 'a,best\n1,to\n2\n' >short.csv
	refused 1 "short.csv:3: 1 cells for 2 columns; 'best' is the first without." short.csv
	printf 'op,files,best\nread,1,to\nwrite,1,sjf\n' >few.csv
	refused 1 "few.csv:1: no column 'spatiality', which T2 needs; --attributes names others." few.csv
	printf 'a,b\n1,2\n' >numbers.csv
	refused 1 "numbers.csv:1: the class 'b' contains numbers; it must contain names. --class selects another column, or columns time_ALGORITHM make one." numbers.csv
	printf '# sluice explore 1\nkernel,policy,ionodes,run,seconds,bytes,bandwidth\na,to,1,1,2,3,4\n' >list.csv
	refused 1 "list.csv is the list of runs of 'sluice explore --output'. Its option --train FILE writes a table to learn from, also of runs that are done." list.csv
	printf '@attribute a {x}\n@data\ny\n' >bad.arff
	refused 1 "bad.arff:3: 'y' is no value of 'a'." bad.arff
	printf 'a,time_to,time_sjf\n1,2,3\n2,0,1\n' >zero.csv
	refused 1 "zero.csv:3: time_to is 0; a time must be above 0." zero.csv
	refused 1 "none.csv: No such file or directory." none.csv
	refused 1 ".: Is a directory." .
}

@test "rows that contradict each other are warned of" {
	printf 'a,best\n1,to\n1,sjf\n2,to\n1,to\n2,aioli\n' >c.csv
	run --separate-stderr "$SLUICE" train c.csv
	[ "$status" -eq 0 ]
	[ "$stderr" = "sluice train: warning: c.csv:3: best is 'sjf', but 'to' in line 2, which is equal in all columns that tree uses. 2 such rows." ]
}

@test "wrong use is told apart" {
	see=" See 'sluice train --help'."
	refused 2 "no table given.$see"
	refused 2 "--tree must be T1, T2 or T3, not 'T4'.$see" --tree T4 "$DATA/runs.csv"
	refused 2 "--folds must be a whole number from 2 to 1000000, not '1'.$see" --folds 1 "$DATA/iris.csv"
	refused 2 "--confidence must be a number from 1e-06 to 0.5, not '0.7'.$see" --confidence 0.7 "$DATA/iris.csv"
	refused 2 "--test needs --train: without it the test rows would be used for training.$see" --test procs=8 "$DATA/runs.csv"
	refused 2 "--tree and --attributes exclude each other.$see" --tree T1 --attributes op "$DATA/runs.csv"
	refused 2 "unknown column 'proc'. Did you mean 'procs'?$see" --train proc=8 "$DATA/runs.csv"
	refused 2 "--train 'procs' must be COLUMN=VALUE or COLUMN!=VALUE.$see" --train procs "$DATA/runs.csv"
	refused 1 "--train: no row of $DATA/runs.csv has device=ssd." --train device=ssd "$DATA/runs.csv"
	refused 1 "$DATA/runs.csv: no row is left of --train procs=9." --train procs=9 "$DATA/runs.csv"
}
