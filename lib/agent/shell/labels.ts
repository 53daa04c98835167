/** Labels of reasons for approval; `lib/base/stakes.ts` says what each means. Never change a label: they are stored in `command_allowlist`. */

/** Outside a sandbox: anything that is not certainly a reader. */
export const CHANGES = 'command that can change something'
export const CONTROL = 'change what decides about the agent'
export const OWN_ADDRESS = 'request to this service'
export const LOGIN_FILE = 'credential file read'
export const GIT_LOSS = 'destructive git command'
export const CODE_FLAG = 'script execution via -e/-c flag'
/** A command needs more than the sandbox allows. */
export const UNCONFINED = 'run outside the sandbox'
/** Labels of the file tools. */
export const OUTSIDE = 'write outside the workspace'
export const UNSEEN = 'read outside the sandbox'
export const PROTECTED = 'change a file that other programs run'

/** Labels for arbitrary text; an allowlist entry doesn't cover them, because the text differs each time. */
const ARBITRARY = new Set([
  CODE_FLAG,
  'pipe remote content to shell',
  'execute remote script via process substitution',
  'decoded text piped to shell',
  CHANGES,
  CONTROL,
  OWN_ADDRESS,
  UNCONFINED,
])

/** Other forms of the same label in older or newer lists. */
const ALSO_STORED_AS: Record<string, string[]> = {
  'world/other-writable permissions': ['world-writable permissions'],
  'recursive world/other-writable (long flag)': ['recursive world-writable (long flag)'],
  'stop/disable system service': ['stop/restart system service'],
  'copy/move file into /etc/': ['copy/move file into system config path'],
}

/** True if the allowlist covers the label in any of its known forms. */
export const isAllowed = (label: string, allowlist: readonly string[]): boolean =>
  !ARBITRARY.has(label) &&
  [label, ...(ALSO_STORED_AS[label] ?? [])].some(form => allowlist.includes(form))
