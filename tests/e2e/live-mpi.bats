# SPDX-License-Identifier: Apache-2.0
# MPI-IO through a layer, by both MPI libraries and both MPI-IO implementations of Open MPI: what
# is in the files is what a run without the layer leaves there, byte for byte.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	mkdir "$DIR/direct" "$DIR/layer"
	"$SLUICE" up "$DIR/layer" >/dev/null
}

# Both runs, then compare. The records of `shared` come in any order, which the program checks.
same_files() { # compiler, launcher and its options
	local compiler=$1 files=0 file
	shift
	CC=$compiler compile live-mpi
	timeout 60 "$@" -n 4 "$BIN/live-mpi" "$DIR/direct"
	timeout 60 "$SLUICE" run --job mpi -- "$@" -n 4 "$BIN/live-mpi" "$DIR/layer"
	for file in contiguous collective sieved ordered; do
		cmp "$DIR/direct/$file" "$DIR/layer/$file"
		files=$((files + $(stat -c %s "$DIR/layer/$file")))
	done
	[ "$(stat -c %s "$DIR/layer/shared")" -eq "$(stat -c %s "$DIR/direct/shared")" ]
	# The hole of `sieved` is half of it; everything else must have come through the node.
	[ "$(job mpi write_bytes)" -ge $((files - $(stat -c %s "$DIR/layer/sieved") / 2)) ]
	[ "$(job mpi read_bytes)" -ge "$(stat -c %s "$DIR/layer/contiguous")" ]
	until_true 10 eval '[ "$(job mpi clients)" -eq 0 ]'
}

open_mpi() {
	same_files mpicc.openmpi mpirun.openmpi --allow-run-as-root --oversubscribe \
		--mca btl_base_warn_component_unused 0 "$@"
}

@test "Open MPI with OMPIO: contiguous, strided collective, sieved, ordered and shared pointers" {
	open_mpi --mca io ompio
}

@test "Open MPI with ROMIO: the same" {
	open_mpi --mca io romio321
}

@test "MPICH: the same" {
	same_files mpicc.mpich mpirun.mpich
}

# Three ranks are one job, with a shell in between or without; the next launch is another.
one_job() { # launcher and its options
	local first second
	first=$("$@" -n 3 "$SLUICE" run -- sh -c 'echo "$SLUICE_JOB_ID"')
	[ "$(wc -l <<<"$first")" -eq 3 ]
	[ "$(sort -u <<<"$first" | wc -l)" -eq 1 ]
	[[ "$first" == mpi-* ]]
	second=$("$@" -n 3 sh -c '"$0" run -- sh -c "echo \$SLUICE_JOB_ID"; true' "$SLUICE")
	[ "$(wc -l <<<"$second")" -eq 3 ]
	[ "$(sort -u <<<"$second" | wc -l)" -eq 1 ]
	[ "$(sort -u <<<"$first")" != "$(sort -u <<<"$second")" ]
	# what the user or the batch system says comes first
	[ "$(SLURM_JOB_ID=77 "$@" -n 2 "$SLUICE" run -- sh -c 'echo "$SLUICE_JOB_ID"' | sort -u)" = 77 ]
	[ "$("$@" -n 2 "$SLUICE" run --job mine -- sh -c 'echo "$SLUICE_JOB_ID"' | sort -u)" = mine ]
}

@test "mpirun -n 3 sluice run is one job: Open MPI" {
	one_job timeout 60 mpirun.openmpi --allow-run-as-root --oversubscribe
}

@test "mpirun -n 3 sluice run is one job: MPICH" {
	one_job timeout 60 mpirun.mpich
}
