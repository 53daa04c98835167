/** What is at stake when a command needs approval: sentences by label, shown by the page in its language. */

/** One sentence for the approval card by the label of the reason: what is at stake. */
export const STAKES: Readonly<Record<string, string>> = {
  'command that can change something':
    'It can change files and settings, and it runs with everything you can do.',
  'write outside the workspace': 'It changes files outside the workspace.',
  'run outside the sandbox': 'It runs outside the sandbox, with everything you can do.',
  'read outside the sandbox': 'It reads a file that commands in the sandbox cannot see.',
  'change a file that other programs run':
    'It changes a file that Git, an editor, or a shell runs outside the sandbox.',
  'change what decides about the agent':
    'It touches files that decide what the agent may do, such as its configuration, tasks or keys. Only you should change them.',
  'request to this service':
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
  'pipe remote content to shell': 'It runs what it downloads, without anyone having read it.',
  'execute remote script via process substitution':
    'It runs what it downloads, without anyone having read it.',
  'decoded text piped to shell': 'It runs text that was encoded so that it cannot be read.',
  'shell command via -c/-lc flag': 'It runs a shell command given as text.',
  'script execution via -e/-c flag': 'It runs a script given with the command.',
  'SQL DROP': 'It deletes a table or a database.',
  'SQL DELETE without WHERE': 'It deletes every row of a table.',
  'SQL UPDATE without WHERE': 'It changes every row of a table.',
  'SQL TRUNCATE': 'It deletes every row of a table.',
  'stop/disable system service': 'It stops or changes a service of the system.',
  'kill hermes/gateway process (self-termination)': 'It ends this service or the agent.',
  'force kill processes': 'It ends processes by force; unsaved work in them is lost.',
  'start gateway outside systemd': 'It starts a gateway that no service manager looks after.',
  'destructive git command': 'It discards work or history in Git that may not come back.',
  'docker removal': 'It stops or removes containers, images or volumes.',
  'overwrite project env file': 'It changes the .env file of the project.',
  'credential file read': 'It reads a file with keys, logins or history.',
  'cloud metadata access': 'It asks the cloud host for the machine’s credentials.',
}

export const moreReasons = (count: number): string =>
  `${count} more ${count === 1 ? 'reason' : 'reasons'} to ask.`
