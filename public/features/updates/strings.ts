/** Words of Settings → Updates, loaded with it. */
import { translator } from '../../strings/t.ts'

export const u = translator({
  lead: 'New versions come from the source repository. Nothing is installed until you choose to.',
  'check.auto': 'Check for updates',
  'check.auto.hint': 'When off, the service never checks and runs no git command.',
  'check.now': 'Check now',
  checking: 'Checking…',
  'checked.never': 'Not checked yet',
  checked: 'Checked {time}',
  failed: 'The check failed: {reason}',
  off: 'Checking for updates is turned off.',
  webui: 'This service',
  agent: 'The agent',
  'none.webui': 'It doesn’t run from a Git checkout, so update it the way you installed it.',
  'none.agent': 'No checkout of the agent was found.',
  current: 'Up to date',
  behind: { one: '{count} commit behind {branch}', other: '{count} commits behind {branch}' },
  versions: '{from} → {to}',
  'fetch failed': 'Couldn’t reach its remote.',
  apply: 'Update',
  'applying.webui': 'Fetching, installing and building. This takes a minute or two.',
  'applying.agent': 'Fetching…',
  next: 'The new version is built first. If that works, the service restarts after two seconds; running turns stop and keep their text so far.',
  restarting: 'Restarting. This page reconnects by itself.',
  late: 'The service hasn’t come back yet. Check its log, or start it again.',
  done: 'Updated.',
  conflict: 'Resolve the conflicts in the checkout with git, or overwrite it.',
  diverged: 'The checkout has commits of its own. Merge them with git, or overwrite them.',
  stash_conflict:
    'The update is installed. Your local changes no longer apply and are kept in git stash; restore them by hand.',
  force: 'Overwrite',
  'force.title': 'Overwrite local changes?',
  'force.text':
    'All changes and commits that exist only in this checkout will be lost. This can’t be undone.',
} as const)
