/** Words of Settings → Updates, loaded with it. */
import { translator } from './t.ts'

export const u = translator({
  lead: 'New versions are fetched from where the sources came from. Nothing is installed until you say so.',
  'check.auto': 'Look for updates',
  'check.auto.hint': 'When off, the service never asks, and runs no git command.',
  'check.now': 'Check now',
  checking: 'Checking…',
  'checked.never': 'Not checked yet',
  checked: 'Checked {time}',
  failed: 'The check did not succeed: {reason}',
  off: 'Looking for updates is switched off.',
  webui: 'This service',
  agent: 'The agent',
  'none.webui': 'It does not run from a git checkout, so it is updated where it was installed.',
  'none.agent': 'No checkout of the agent was found.',
  current: 'Up to date',
  behind: { one: '{count} commit behind {branch}', other: '{count} commits behind {branch}' },
  versions: '{from} → {to}',
  'fetch failed': 'Its remote could not be reached.',
  apply: 'Update',
  'applying.webui': 'Fetching, installing and building. This takes a minute or two.',
  'applying.agent': 'Fetching…',
  next: 'The new version is built first. If that works the service restarts by itself after two seconds; running turns are stopped and keep what they have said.',
  restarting: 'Restarting. This page comes back by itself.',
  late: 'The service has not come back yet. Look at its log, or start it again.',
  done: 'Updated.',
  conflict: 'Resolve the conflicts in the checkout with git, or overwrite it.',
  diverged: 'The checkout has commits of its own. Merge them with git, or overwrite them.',
  stash_conflict:
    'The update is in place. Your local changes no longer fit and are kept in git stash: bring them back by hand.',
  force: 'Overwrite',
  'force.title': 'Overwrite local changes?',
  'force.text':
    'All changes and commits that exist only in this checkout are thrown away. This cannot be undone.',
} as const)
