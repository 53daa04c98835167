/** English text of Settings → Updates, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({
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
  'none.webui':
    'Not a Git checkout, and AGENT_WEBUI_RELEASES is not set. Update it the way you installed it.',
  'none.agent': 'No Git checkout of the agent found.',
  current: 'Up to date',
  behind: { one: '{count} commit behind {branch}', other: '{count} commits behind {branch}' },
  versions: '{from} → {to}',
  release: 'Version {version} is available',
  changes: 'What’s new',
  undone:
    'Version {version} didn’t work and was undone on {time}: {reason}. Nothing was lost; the previous version is running.',
  'failed.release': 'Couldn’t reach the release server.',
  'fetch failed': 'Couldn’t reach the Git remote.',
  apply: 'Update',
  'applying.webui': 'Installing the update. This takes a minute or two.',
  'applying.agent': 'Fetching…',
  next: 'The new version is prepared and checked first. If that succeeds, the server restarts after two seconds. Running responses are stopped; partial output is kept.',
  restarting: 'Restarting. This page will reconnect automatically.',
  late: 'The server hasn’t restarted yet. Check its log or start it manually.',
  done: 'Updated',
  'done.by_hand': 'Updated. Start the server again to use it.',
  running: 'An update is already in progress.',
  not_built: 'The new version couldn’t be built, so the previous one stays: {reason}',
  conflict: 'Resolve the conflicts in the checkout with Git, or overwrite the checkout.',
  diverged: 'The checkout has its own commits. Merge them with Git, or overwrite the checkout.',
  stash_conflict:
    'The update is installed, but your local changes no longer apply. They are saved in git stash; restore them manually.',
  force: 'Overwrite',
  'force.title': 'Overwrite local changes?',
  'force.text':
    'All changes and commits that exist only in this checkout will be discarded. This can’t be undone.',
} as const)
