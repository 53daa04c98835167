/** While a command has its private Git directory, the person's own Git goes on in the real one: no ref of theirs is lost. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { privateGitFor } from '../../../../lib/commands/sandbox/private-git.ts'
import { GIT_ENV, git } from '../../../_git.ts'
import { tempDir } from '../../../_temp-dir.ts'

const test = suite('refs that two Gits change at the same time')

type Place = {
  dir: string
  /** As the person. */
  outside: (...args: string[]) => string
  /** As the command. */
  inside: (...args: string[]) => string
  /** Another program holds this lock, or has left it. */
  lock: (name: string) => void
}

const commit = (message: string) => ['commit', '-q', '--allow-empty', '-m', message]

/** `main` has a commit, and so has `side`. Returns the note. */
const meanwhile = async (
  packs: boolean,
  prepare: Case['prepare'],
  work: (place: Place) => void,
  check: (place: Place, note: string) => void,
): Promise<void> => {
  const dir = tempDir('private-git')
  const outside = (...args: string[]) => git(dir, ...args)
  outside('init', '-q', '--template=', '-b', 'main')
  outside(...commit('first'))
  outside('checkout', '-q', '-b', 'side')
  outside(...commit('on side'))
  outside('checkout', '-q', 'main')
  if (packs) outside('pack-refs', '--all')
  prepare?.(outside)
  const common = join(dir, '.git')
  const own = privateGitFor({ common, worktree: null }, { visibleAt: common })
  const place: Place = {
    dir,
    outside,
    inside: (...args) =>
      execFileSync('git', args, {
        cwd: dir,
        env: { ...GIT_ENV, GIT_DIR: own.dir, GIT_WORK_TREE: dir },
        encoding: 'utf8',
        stdio: 'pipe',
      }).trim(),
    lock: name => writeFileSync(join(common, `${name}.lock`), ''),
  }
  work(place)
  const note = await own.finish()
  check(place, note ?? '')
  outside('fsck', '--strict')
}

type Case = {
  what: string
  /** Absent: with loose refs, and again with packed ones. */
  isPacked?: boolean
  /** After that, before the command has its copy. */
  prepare?: (outside: Place['outside']) => void
  work: (place: Place) => void
  /** Branches and tags afterwards, with the subjects of their commits. */
  leaves: string
  note?: RegExp
  check?: (place: Place) => void
}

const pack = ['pack-refs', '--all']
const DENIED = /another program/

const CASES: readonly Case[] = [
  {
    what: 'both pack the refs',
    isPacked: false,
    work({ inside, outside }) {
      inside(...pack)
      outside('tag', 'v1')
      outside(...pack)
    },
    leaves: 'main=first side=on side v1=first',
    note: /packed-refs \(another program/,
  },
  {
    what: 'the person packs other refs than the command does',
    isPacked: false,
    work({ inside, outside }) {
      inside(...pack)
      outside('tag', 'v1')
      // Only tags: the branches stay in files of their own.
      outside('pack-refs')
    },
    leaves: 'main=first side=on side v1=first',
  },
  {
    what: 'a lock of packed-refs that is never released',
    isPacked: false,
    work({ inside, lock }) {
      inside(...commit('inside'))
      inside('checkout', '-q', '-b', 'new')
      inside(...commit('on new'))
      inside('gc', '-q')
      lock('packed-refs')
    },
    // Also what the command made and packed.
    leaves: 'main=inside new=on new side=on side',
    note: /packed-refs \(another program/,
    check: ({ outside }) => assert.is(outside('log', '-1', '--format=%s'), 'on new'),
  },
  {
    what: 'the command packs, and everything is taken over',
    isPacked: false,
    work({ inside }) {
      inside(...commit('inside'))
      inside('branch', '-D', 'side')
      inside('gc', '-q')
    },
    leaves: 'main=inside',
    note: /^$/,
  },
  {
    what: 'the command deletes branches, packed and not',
    work({ inside }) {
      inside('branch', '-D', 'side')
      inside('branch', '-m', 'main', 'main/below')
    },
    leaves: 'main/below=first',
    note: /^$/,
    check: ({ outside }) => assert.is(outside('symbolic-ref', 'HEAD'), 'refs/heads/main/below'),
  },
  {
    what: 'the command deletes a branch on which the person commits',
    work({ inside, outside }) {
      inside('branch', '-D', 'side')
      outside('checkout', '-q', 'side')
      outside(...commit('outside'))
    },
    leaves: 'main=first side=outside',
    check({ outside }) {
      assert.is(outside('log', '-1', '--format=%s'), 'outside')
      assert.match(outside('reflog', 'side'), 'outside')
    },
  },
  {
    what: 'the command deletes a branch to which the person goes',
    work({ inside, outside }) {
      inside('branch', '-D', 'side')
      outside('checkout', '-q', 'side')
    },
    leaves: 'main=first side=on side',
    note: DENIED,
  },
  {
    what: 'the command deletes a packed branch, and packed-refs is not taken over',
    isPacked: true,
    prepare: outside => outside('update-ref', 'refs/heads/side', 'main'),
    work({ inside, lock }) {
      inside('branch', '-D', 'side')
      lock('packed-refs')
    },
    // Without its file, the branch would go back to what is packed.
    leaves: 'main=first side=first',
  },
  ...['refs/heads/trunk', 'HEAD'].map(
    (name): Case => ({
      what: `the command renames the branch, and ${name} is locked`,
      work({ inside, lock }) {
        inside('branch', '-m', 'main', 'trunk')
        lock(name)
      },
      leaves: name === 'HEAD' ? 'main=first side=on side trunk=first' : 'main=first side=on side',
      note: new RegExp(name),
      check({ outside }) {
        assert.is(outside('symbolic-ref', 'HEAD'), 'refs/heads/main')
        assert.match(outside('reflog', 'main'), 'first')
      },
    }),
  ),
  {
    what: 'both commit on a packed branch, and the person packs again',
    isPacked: true,
    work({ inside, outside }) {
      inside(...commit('inside'))
      outside(...commit('outside'))
      outside(...pack)
    },
    leaves: 'main=outside side=on side',
    note: /refs\/heads\/main \(another program/,
  },
  {
    what: 'both make a branch of the same name, and the person packs it',
    isPacked: false,
    work({ inside, outside }) {
      inside('checkout', '-q', '-b', 'new')
      inside(...commit('inside'))
      outside('branch', 'new', 'side')
      outside(...pack)
    },
    leaves: 'main=first new=on side side=on side',
  },
  {
    what: 'the person only packs what the command changes',
    isPacked: false,
    work({ inside, outside }) {
      inside(...commit('inside'))
      outside(...pack)
    },
    leaves: 'main=inside side=on side',
    note: /^$/,
  },
  {
    what: 'the person deletes a branch that the command packs',
    isPacked: false,
    work({ inside, outside }) {
      inside(...pack)
      outside('branch', '-D', 'side')
    },
    leaves: 'main=first',
  },
  {
    what: 'the person goes to another branch while the command commits, or goes elsewhere',
    isPacked: false,
    work({ inside, outside }) {
      inside(...commit('inside'))
      inside('checkout', '-q', '-b', 'new')
      outside('checkout', '-q', 'side')
      outside(...commit('outside'))
    },
    leaves: 'main=inside new=inside side=outside',
    note: /HEAD \(another program/,
    check: ({ outside }) => assert.is(outside('symbolic-ref', 'HEAD'), 'refs/heads/side'),
  },
  {
    what: 'the person holds the lock of the index',
    isPacked: false,
    work({ dir, inside, outside, lock }) {
      writeFileSync(join(dir, 'theirs'), 'theirs\n')
      outside('add', 'theirs')
      writeFileSync(join(dir, 'ours'), 'ours\n')
      inside('add', 'ours')
      inside(...commit('inside'))
      lock('index')
    },
    leaves: 'main=inside side=on side',
    note: /index \(another program/,
    check: ({ outside }) => assert.is(outside('ls-files'), 'theirs'),
  },
]

for (const { what, isPacked, prepare, work, leaves, note = /(?:)/, check } of CASES)
  test(what, async () => {
    for (const packs of isPacked === undefined ? [false, true] : [isPacked])
      await meanwhile(packs, prepare, work, (place, said) => {
        const names = '--format=%(refname:short)=%(contents:subject)'
        assert.is(place.outside('for-each-ref', names).replaceAll('\n', ' '), leaves)
        assert.match(said, note)
        check?.(place)
      })
  })

test.run()
