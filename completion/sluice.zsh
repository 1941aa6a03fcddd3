_sluice_layers() {
	compadd -- ${(f)"$(sluice status --all 2>/dev/null | awk 'NR > 1 && /^[^ ]/ { print $1 }')"}
}

_sluice_jobs() {
	local -a layer
	local -i at=${words[(I)--name]}

	(( at )) && layer=(--name "${words[at + 1]}") || layer=(${(M)words:#--name=*})
	compadd -- ${(f)"$(sluice top --batch --count 1 --columns 512 $layer 2>/dev/null |
		awk '/^JOB .* REASON$/ { on = 1; next } /^IONODE .* CAP$/ { on = 0 } on { print $1 }')"}
}

_sluice_of_stage() { # stage
	compadd -- ${${(M)_sluice_policies:#$1/*}#*/}
}

_sluice_stages() {
	compadd -S '' -- ${(u)_sluice_policies%%/*}=
	compadd -- ${_sluice_policies/\//=}
}

_sluice "$@"
