_sluice_layers() {
	compadd -- ${(f)"$(sluice status --all 2>/dev/null | awk 'NR > 1 && NF > 2 { print $1 }')"}
}

_sluice_jobs() {
	compadd -- ${(f)"$(sluice top --batch --count 1 --columns 512 2>/dev/null |
		awk '/^JOB / { on = 1; next } /^IONODE / { on = 0 } on { print $1 }')"}
}

_sluice_stages() {
	compadd -S '' -- ${(u)_sluice_policies%%/*}=
	compadd -- ${_sluice_policies/\//=}
}

_sluice "$@"
