# SPDX-License-Identifier: Apache-2.0
# `sluice allocate`: Table 4 of the paper, the answers of another solver, studies, mistakes.
bats_require_minimum_version 1.5.0
load fails

TABLE4=BT-C,BT-D,IOR-MPI,POSIX-L,MAD,S3D

setup() {
	COMMAND=allocate
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	EXAMPLES=$(realpath "${SOURCE_DIR:-.}/examples/allocate")
	CURVES=$EXAMPLES/gekkofwd.csv
	cd "$BATS_TEST_TMPDIR"
	cat >two.csv <<-END
		job,ionodes,bandwidth,nodes,procs
		a,0,10,8,16
		a,2,30,8,16
		a,4,35,8,16
		b,0,5,8,8
		b,1,12,8,8
		b,2,13,8,8
	END
}

# The same for a file with this text.
wrong_file() {
	printf "$1" >wrong.csv
	wrong "$2" wrong.csv
}

@test "the table of the paper: mckp" {
	"$SLUICE" allocate --ionodes 12 --jobs $TABLE4 --json "$CURVES" >out.json
	jq -e '.policy == "mckp" and .ionodes == 12 and (.bandwidth - 6792.2 | fabs < 0.05)
		and ([.jobs[].job] == ["BT-C", "BT-D", "IOR-MPI", "POSIX-L", "MAD", "S3D"])
		and ([.jobs[].ionodes] == [0, 1, 8, 2, 0, 0])
		and ([.jobs[].nodes | length] == [0, 1, 8, 2, 0, 0])
		and ([.jobs[].nodes[]] | . == unique and max < 12)' out.json
}

@test "the table of the paper: static, size and oracle" {
	"$SLUICE" allocate -F 12 -C 384 -J $TABLE4 -p static -p size -p oracle --json "$CURVES" >out.json
	jq -e '[.[].policy] == ["static", "size", "oracle"]
		and ([.[0].jobs[].ionodes] == [1, 2, 1, 2, 1, 2])
		and ([.[1].jobs[].ionodes] == [1, 2, 1, 2, 1, 2])
		and (.[0].bandwidth - 1478.3 | fabs < 0.1) and .[0].ratio_to_static == 1
		and (.[2].bandwidth - 9377.7 | fabs < 0.05)
		and ([.[2].jobs[].nodes[]] == [])' out.json
}

@test "the curves that are shipped are what the script makes of the published ones" {
	# The first lines of the published file, in its order: by number of forwarders.
	awk -F, 'BEGIN { split("BT-C BT-D HACC IOR-MPI POSIX-S POSIX-L MAD SIM S3D", n, " ")
			for (i in n) letter[n[i]] = substr("ABCDEFGHI", i, 1)
			print ";scenario;forwarders;bandwidth;clients;processes" }
		NR > 1 { print NR - 1 ";" letter[$1] ";" $2 ";" $3 ";" $4 ";" $5 }' "$CURVES" >published.csv
	"$EXAMPLES/from-gekkofwd" published.csv >made.csv
	cmp made.csv "$CURVES"
	"$EXAMPLES/from-gekkofwd" published.csv MAD S3D >made.csv
	[ "$(cut -d, -f1 made.csv | sort -u | tr '\n' ' ')" = "MAD S3D job " ]
	run "$EXAMPLES/from-gekkofwd" published.csv MADE
	[ "$status" -eq 2 ]
	# It can be read as it is, too.
	[ "$("$SLUICE" allocate -F 12 -J A,B,D,F,G,I --json published.csv | jq -c '[.jobs[].ionodes]')" \
		= "[0,1,8,2,0,0]" ]
}

@test "measurements of FORGE become curves" {
	cat >forge.csv <<-END
		forwarders;clients;processes;layout;spatiality;odirect;stonewall;request;total;operation;time;transfered;bandwidth
		4;32;1536;0;0;1;60;4096;131072;write;62.0;128068.0;2063.5
		8;32;1536;1;0;1;60;8192;131072;write;86.6;26728.0;308.25
		4;32;1536;0;0;1;60;4096;131072;write;62.0;128068.0;2065.5
	END
	"$EXAMPLES/from-forge" forge.csv forge.csv >made.csv
	# The published files have CRLF line ends.
	sed 's/$/\r/' forge.csv >crlf.csv
	"$EXAMPLES/from-forge" crlf.csv crlf.csv | cmp - made.csv
	[ "$(sort -u made.csv | tr '\n' ' ')" = "32-1536-file-contiguous-4096,4,2063.5,32,1536\
 32-1536-file-contiguous-4096,4,2065.5,32,1536 32-1536-shared-contiguous-8192,8,308.25,32,1536\
 job,ionodes,bandwidth,nodes,procs " ]
	# The median of 2063.5 and 2065.5.
	"$SLUICE" allocate -F 4 --json made.csv | jq -e '.jobs[0].bandwidth == 2064.5'
}

@test "the table names jobs, numbers, nodes and the sum, and fits 80 columns" {
	run --separate-stderr "$SLUICE" allocate -F 4 -p mckp -p static two.csv
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[[ "${lines[0]}" == "two.csv: 2 jobs on 16 compute nodes, 4 I/O nodes, direct access" ]]
	[[ "$output" == *"mckp: 1.00 times the bandwidth of static"* ]]
	[ "$(grep -Ec '^a +2  0-1 +30.0$' <<<"$output")" -eq 2 ]
	[ "$(grep -Ec '^b +2  2-3 +13.0$' <<<"$output")" -eq 2 ]
	[ "$(grep -Ec '^sum +4 +43.0$' <<<"$output")" -eq 2 ]
}

@test "without direct access jobs share a node when there are too few" {
	"$SLUICE" allocate -F 1 --no-direct --json two.csv >out.json
	jq -e '[.jobs[].ionodes] == [1, 1] and ([.jobs[].nodes[]] == [0, 0])
		and ([.jobs[].shared] == [true, true]) and .jobs[0].bandwidth == null
		and .jobs[1].bandwidth == 6 and .bandwidth == 6' out.json
	wrong "*--no-direct needs at least one I/O node*" -F 0 --no-direct two.csv
}

@test "a job without a curve gets what static gives; others the rest" {
	printf 'new,,,8,8\n' >>two.csv
	"$SLUICE" allocate -F 6 -C 24 --json two.csv |
		jq -e '[.jobs[].ionodes] == [2, 2, 2] and .jobs[2].bandwidth == null'
}

@test "numbers that do not divide the compute nodes only if asked for" {
	printf 'x;0;1;6\nx;4;9;6\nx;3;5;6\n' >x.csv
	[ "$("$SLUICE" allocate -F 4 --json x.csv | jq .jobs[0].ionodes)" -eq 3 ]
	[ "$("$SLUICE" allocate -F 4 --uneven --json x.csv | jq .jobs[0].ionodes)" -eq 4 ]
	[ "$("$SLUICE" allocate --json - <x.csv | jq .ionodes)" -eq 1 ]
}

@test "an exact solver of another make finds the same bandwidth" {
	command -v glpsol >/dev/null || skip "glpsol is not installed"
	for seed in $(seq 1 40); do
		# Options are 0 and the divisors of the compute nodes; the LP has one variable for each.
		awk -v seed="$seed" 'BEGIN {
			srand(seed)
			jobs = 2 + int(rand() * 30)
			f = int(rand() * 60)
			split("8 12 16 24 32 60 64", sizes, " ")
			print "job,ionodes,bandwidth,nodes,procs" >"glpk.csv"
			for (j = 1; j <= jobs; j++) {
				size = sizes[1 + int(rand() * 7)]
				one = ""
				for (n = 0; n <= 16; n++) {
					if (n && rand() < 0.3)
						continue
					bw = sprintf("%.3f", rand() * 1000 * (1 + n))
					print "j" j "," n "," bw "," size "," size >"glpk.csv"
					if ((n && size % n) || n > f)
						continue
					x = "x_" j "_" n
					value = value " + " bw " " x "\n"
					if (n)
						weight = weight " + " n " " x "\n"
					one = one " + " x
					binary = binary x "\n"
				}
				each = each one " = 1\n"
			}
			print "Maximize\nbw: " value "Subject To\n" each >"glpk.lp"
			if (weight != "")
				print weight "<= " f >"glpk.lp"
			print "Binary\n" binary "End" >"glpk.lp"
			print f >"glpk.f"
		}'
		glpsol --lp glpk.lp -o glpk.out >glpk.log
		grep -q 'INTEGER OPTIMAL' glpk.out
		best=$(awk '/^Objective:/ { print $4 }' glpk.out)
		"$SLUICE" allocate -F "$(cat glpk.f)" --json glpk.csv >out.json
		jq -e --argjson best "$best" '(.bandwidth - $best | fabs) <= 1e-6 * $best' out.json || {
			echo "seed $seed: glpsol $best, sluice $(jq .bandwidth out.json)"
			false
		}
	done
}

@test "a study is the same with any number of threads" {
	"$SLUICE" allocate --study -n 6 -r 300 -F 0..20 --json -T 1 "$CURVES" >one.json
	"$SLUICE" allocate --study -n 6 -r 300 -F 0..20 --json -T 3 "$CURVES" >three.json
	cmp one.json three.json
	"$SLUICE" allocate --study -n 6 -r 300 -F 0..20 --json -s 2 "$CURVES" >other.json
	! cmp -s one.json other.json || false
}

@test "in a study mckp is never worse than static, and reaches the oracle" {
	"$SLUICE" allocate --study --sample 9 --repeat 50 --ionodes 0..72 --json "$CURVES" >out.json
	# Each set is all nine curves: every figure is the one of a plain call.
	"$SLUICE" allocate -F 20 -p mckp -p static --json "$CURVES" >plain.json
	jq -e --slurpfile plain plain.json '
		([.policies[].policy] | length == 7) and
		(.policies[] | select(.policy == "mckp")) as $m |
		(.policies[] | select(.policy == "oracle")) as $o |
		($m.points | length == 73) and
		([$m.points[].ratio_to_static.min] | min >= 1 - 1e-9) and
		([$m.points[].bandwidth.median] | . == sort) and
		($m.points[20].bandwidth | (.min - $plain[0][0].bandwidth | fabs < 1e-6)
			and .max - .min < 1e-6) and
		($m.points[20].ratio_to_static.median - $plain[0][0].ratio_to_static | fabs < 1e-9) and
		($m.reaches_oracle | . > 20 and . <= 72) and
		$m.reaches_oracle == $m.reaches_oracle_always and
		($m.points[$m.reaches_oracle].bandwidth.median - $o.points[0].bandwidth.median
			| fabs < 1e-6) and
		$m.points[$m.reaches_oracle].is_oracle == 1 and
		$m.points[$m.reaches_oracle - 1].is_oracle == 0' out.json
}

@test "the tables of a study fit 80 columns and say where the oracle is reached" {
	cp "$CURVES" nine.csv
	run --separate-stderr "$SLUICE" allocate --study -r 20 nine.csv
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[[ "${lines[0]}" == "nine.csv: 20 sets of 16 from 9 curves (repeated), seed 1" ]]
	[[ "$output" == *"ionodes      mckp    static      size   process       one      zero    oracle"* ]]
	[[ "$output" == *"median of the oracle from "*" I/O nodes on"* ]]
}

@test "the page of a study is one file, and no name in it becomes markup" {
	sed 's/^BT-C,/<\/script><b>,/' "$CURVES" >'<b>.csv'
	"$SLUICE" allocate --study -r 10 -F 0..8 --html page.html '<b>.csv' >/dev/null
	[[ "$(head -1 page.html)" == "<!doctype html>" ]]
	! grep -q '<b>' page.html || false
	! grep -Eq '(src|href)=' page.html || false
	sed -n '/id="data"/,/<\/script>/p' page.html | sed '1d;$d' | jq -e '.policies | length == 7'
	run --separate-stderr "$SLUICE" allocate --study -r 10 --html /nowhere/page.html "$CURVES"
	[ "$status" -eq 1 ]
	[[ "$stderr" == *"cannot write /nowhere/page.html: No such file or directory." ]]
}

@test "mistakes in the curves are named with file and line" {
	wrong_file 'job,ionodes,bandwidth\na,1,2\n' "*wrong.csv:1: no column 'nodes'.*"
	wrong_file 'a,0,1\n' "*wrong.csv:1: 3 columns without names; there should be job, *"
	wrong_file '# c\n\na,0,1,8\na,-1,1,8\n' \
		"*wrong.csv:4: ionodes: '-1' is not a whole number from 0 to 1000000.*"
	wrong_file 'a,0,1,8\na,1,x,8\n' "*wrong.csv:2: bandwidth: 'x' is not a number of at least 0.*"
	wrong_file 'a,0,inf,8\n' "*wrong.csv:1: bandwidth: 'inf' is not a number of at least 0.*"
	wrong_file 'a,0,-1,8\n' "*wrong.csv:1: bandwidth: '-1' is not a number of at least 0.*"
	wrong_file 'a,0,1,0\n' "*wrong.csv:1: nodes: '0' is not a whole number from 1 to 1000000.*"
	wrong_file 'a,0,1,8\na,1\n' "*wrong.csv:2: 2 columns, and there should be 4.*"
	wrong_file 'a,0,1,8\n,1,1,8\n' "*wrong.csv:2: the job has no name.*"
	wrong_file 'a,0,1,8,8\na,1,1,8,9\n' \
		"*wrong.csv:2: job 'a' has 8 compute nodes and 9 processes, but 8 and 8 in line 1.*"
	wrong_file '"a,0,1,8\n' "*wrong.csv:1: a quote is not closed.*"
	wrong_file 'job,job,ionodes,bandwidth,nodes\n' "*wrong.csv:1: two columns for job.*"
	wrong_file 'a,0,1,8\n\0,1,1,8\n' "*wrong.csv:2: a control character (0x00) in a cell.*"
	wrong_file '' "*wrong.csv: there are no jobs in it.*"
	run --separate-stderr "$SLUICE" allocate nothing.csv
	[ "$status" -eq 1 ]
	[[ "$stderr" == "sluice allocate: cannot read nothing.csv: No such file or directory." ]]
}

@test "mistakes in options are named" {
	wrong "*give a file with curves*"
	wrong "*unknown allocate policy 'mkcp'. Did you mean 'mckp'?*" -p mkcp two.csv
	wrong "*--ionodes: 'x' is not a whole number from 0 to 100000.*" -F x two.csv
	wrong "*--ionodes: a range is for --study.*" -F 0..4 two.csv
	wrong "*--ionodes: '3' is not a whole number from 4 to 100000.*" --study -F 4..3 two.csv
	wrong "*are for --study.*" --repeat 3 two.csv
	wrong "*the curves have no job 'zzz'.*" -J a,zzz two.csv
	wrong "*unexpected argument 'b'.*" two.csv b
}
