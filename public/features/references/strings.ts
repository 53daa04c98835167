/** Texts of links to files and commits, and of the commit dialog. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'ref.file': 'Open {path}',
  'ref.folder': 'Show {path} in Files',
  'ref.commit': 'Show commit: {subject}',
  'commit.title': 'Commit {id}',
  'commit.loading': 'Loading commit…',
  'commit.failed': 'Couldn’t load this commit',
  'commit.copy': 'Copy commit id',
  'commit.files': { one: '{count} file changed', other: '{count} files changed' },
  'commit.cut': 'This diff is too large to show in full.',
  'commit.rest': {
    one: '{count} file without a text diff',
    other: '{count} files without a text diff',
  },
  'commit.close': 'Close',
})
