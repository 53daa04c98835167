/** English text of Settings → Updates, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('updates', {
  lead: 'Nothing is installed without your confirmation.',
  'check.auto': 'Check for updates automatically',
  'check.auto.hint': 'When off, the server never looks for updates.',
  'check.now': 'Check now',
  checking: 'Checking…',
  'checked.never': 'Not checked yet',
  checked: 'Checked {time}',
  failed: 'Update check failed: {reason}',
  off: 'Automatic checks are off.',
  webui: 'The server',
  agent: 'The agent',
  'none.webui': 'Not a Git checkout. Update it the way you installed it, then start it again:',
  'way.npm': 'npm package',
  'way.image': 'Container',
  'way.systemd': 'One file, run by systemd',
  'none.agent': 'No Git checkout of the agent found.',
  current: 'Up to date',
  behind: { one: '{count} commit behind {branch}', other: '{count} commits behind {branch}' },
  versions: '{from} → {to}',
  changes: 'What’s new',
  'fetch failed': 'Couldn’t reach the Git remote.',
  apply: 'Update',
  'applying.webui': 'Installing the update. This takes a minute or two.',
  'applying.agent': 'Fetching…',
  next: 'The new version is built first. If that succeeds, the server restarts after two seconds. Running answers go on afterwards.',
  restarting: 'Restarting. This page will reconnect automatically.',
  late: 'The server hasn’t restarted yet. Check its log or start it manually.',
  done: 'Updated',
  'done.by_hand': 'Updated. Start the server again to use it.',
  running: 'An update is already in progress.',
  not_built:
    'The new version couldn’t be built, so this one keeps running: {reason}. Nothing else has changed; you can try again.',
  'not_built.stuck':
    'The new version couldn’t be built, so this one keeps running: {reason}. To go back, run git reset --keep {commit} and npm start.',
  conflict: 'Resolve the conflicts in the checkout with Git, or overwrite the checkout.',
  diverged: 'The checkout has its own commits. Merge them with Git, or overwrite the checkout.',
  stash_conflict:
    'The update is installed, but your local changes no longer apply. They are saved in git stash; restore them manually.',
  force: 'Overwrite',
  'force.title': 'Overwrite local changes?',
  'force.text':
    'All changes and commits that exist only in this checkout will be discarded. This can’t be undone.',
} as const)
