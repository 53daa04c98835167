/** Labels of reasons for approval, and what each means. Never change a label: they are stored in `command_allowlist`. */

export const UNCLEAR = 'command not understood'
const UNRECOGNIZED = 'program not recognized: '
export const unrecognized = (name: string): string => `${UNRECOGNIZED}${name}`
/** The program that such a label names; null for other labels. */
export const unrecognizedName = (label: string): string | null =>
  label.startsWith(UNRECOGNIZED) ? label.slice(UNRECOGNIZED.length) : null
export const OUTSIDE = 'write outside the workspace'
export const ELSEWHERE = 'program from outside the workspace'
export const CONTROL = 'change what decides about the agent'
export const OWN_ADDRESS = 'request to this service'
export const CODE_FLAG = 'script execution via -e/-c flag'
/** Of the sandbox: what a command needs beyond it. */
export const NETWORK = 'network access from the sandbox'
export const UNCONFINED = 'run outside the sandbox'
export const UNSEEN = 'read outside the sandbox'
export const PROTECTED = 'change a file that other programs run'
export const STARTS_OTHER = 'program starts another command'
export const SHELL_FLAG = 'shell command via -c/-lc flag'

/** One sentence for the approval card: what is at stake. */
const STAKES: Readonly<Record<string, string>> = {
  [UNCLEAR]: 'Parts of this command can only be known when it runs.',
  [OUTSIDE]: 'It changes files outside the workspace.',
  [NETWORK]: 'It runs in the sandbox, with network access.',
  [UNCONFINED]: 'It runs outside the sandbox, with everything you can do.',
  [UNSEEN]: 'It reads a file that commands in the sandbox cannot see.',
  [PROTECTED]: 'It changes a file that Git, an editor, or a shell runs outside the sandbox.',
  [ELSEWHERE]: 'It runs a program or a project outside the workspace.',
  [CONTROL]:
    'It touches files that decide what the agent may do, such as its configuration, tasks or keys. Only you should change them.',
  [OWN_ADDRESS]:
    'It sends a request to this service, which could answer approvals or change settings.',
  'fork bomb': 'It starts copies of itself until the machine stops responding.',
  'format filesystem': 'It formats a file system. Everything on it is lost.',
  'write to block device': 'It writes directly to a disk and destroys what is on it.',
  'disk copy': 'It copies raw data with dd and overwrites its target.',
  'kill all processes': 'It ends every process of yours.',
  'delete in root path': 'It deletes files by an absolute path.',
  'recursive delete': 'It deletes folders with everything in them.',
  'recursive delete (long flag)': 'It deletes folders with everything in them.',
  'xargs with rm': 'It deletes every file that the first part of the command finds.',
  'find -exec rm': 'It deletes every file that the search finds.',
  'find -delete': 'It deletes every file that the search finds.',
  'delete outside the workspace': 'It deletes files outside the workspace.',
  'overwrite system file via tee': 'It writes to a file of the system or to your SSH settings.',
  'overwrite system config': 'It changes the configuration of the system.',
  'overwrite system file via redirection':
    'It writes to a file of the system or to your SSH settings.',
  'copy/move file into /etc/': 'It places a file in the configuration of the system.',
  'in-place edit of system config': 'It edits the configuration of the system.',
  'in-place edit of system config (long flag)': 'It edits the configuration of the system.',
  'world/other-writable permissions': 'It lets every user of this machine change these files.',
  'recursive world/other-writable (long flag)':
    'It lets every user of this machine change these files.',
  'recursive chown to root': 'It hands these files to the administrator.',
  'recursive chown to root (long flag)': 'It hands these files to the administrator.',
  'broad permission change': 'It changes permissions or owners outside the workspace.',
  'pipe remote content to shell': 'It runs what it downloads, without anyone having read it.',
  'execute remote script via process substitution':
    'It runs what it downloads, without anyone having read it.',
  'decoded text piped to shell': 'It runs text that was encoded so that it cannot be read.',
  [SHELL_FLAG]: 'It runs a shell command given as text.',
  [CODE_FLAG]: 'It runs a script given with the command.',
  'SQL DROP': 'It deletes a table or a database.',
  'SQL DELETE without WHERE': 'It deletes every row of a table.',
  'SQL UPDATE without WHERE': 'It changes every row of a table.',
  'SQL TRUNCATE': 'It deletes every row of a table.',
  'stop/disable system service': 'It stops or changes a service of the system.',
  'kill hermes/gateway process (self-termination)': 'It ends this service or the agent.',
  'force kill processes': 'It ends processes by force; unsaved work in them is lost.',
  'start gateway outside systemd': 'It starts a gateway that no service manager looks after.',
  'destructive git command': 'It discards work or history in Git that may not come back.',
  'git configuration that runs programs': 'It makes Git run another program.',
  'docker removal': 'It stops or removes containers, images or volumes.',
  'overwrite project env file': 'It changes the .env file of the project.',
  'credential file read': 'It reads a file with keys, logins or history.',
  'cloud metadata access': 'It asks the cloud host for the machine’s credentials.',
  'empty an existing file': 'It empties a file. Its content is lost.',
  'write to a startup or login file':
    'It changes a file that runs at your next login or when another program starts.',
  'run downloaded code': 'It downloads a program and runs it.',
  'send data to another machine': 'It sends data to another machine.',
  'command on another machine': 'It runs a command on another machine.',
  'network shell': 'It opens a network connection that could give others a shell on this machine.',
  'scheduled command': 'It changes what runs later by itself.',
  'system administration': 'It changes the system: packages, users, disks, network or kernel.',
  'cloud or cluster change': 'It changes or deletes resources in a cloud or a cluster.',
  'environment that changes other programs':
    'It sets a variable that makes other programs run something else.',
  [STARTS_OTHER]: 'It makes a program start another command.',
  'publish to others': 'It publishes something that others can see.',
  'device or container access': 'It gives a container access to the whole machine.',
  'end a process': 'It ends processes that it did not start.',
}

export const stakeOf = (label: string): string =>
  STAKES[label] ??
  (unrecognizedName(label) !== null
    ? `“${unrecognizedName(label)}” is not a program known to be harmless.`
    : `${label.slice(0, 1).toUpperCase()}${label.slice(1)}.`)

const MOST_SENTENCES = 4

/** The text of the approval card: one sentence per reason without repeats; of many, the most severe and a count. */
export const describeLabels = (labels: readonly string[]): string => {
  const sentences = [...new Set(labels.map(stakeOf))]
  const more = sentences.length - MOST_SENTENCES
  const rest = more > 0 ? [`${more} more ${more === 1 ? 'reason' : 'reasons'} to ask.`] : []
  return [...sentences.slice(0, MOST_SENTENCES), ...rest].join(' ')
}

/** Labels for arbitrary text; an allowlist entry doesn't cover them, because the text differs each time. */
const ARBITRARY = new Set([
  CODE_FLAG,
  'pipe remote content to shell',
  'execute remote script via process substitution',
  'decoded text piped to shell',
  UNCLEAR,
  'run downloaded code',
  STARTS_OTHER,
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

export const isKnownLabel = (label: string): boolean => label in STAKES
