# SPDX-License-Identifier: Apache-2.0
# For /etc/profile.d of a login node with a layer for all users: what a login shell starts belongs to a job that is
# called as the session of logind is (session-3). Without a layer nothing happens. A rule with job: "session-*" limits it.
eval "$(sluice run --name system --print-env 2>/dev/null)" || :
