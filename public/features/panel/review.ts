/** The diff that is shown beside the list of changes when the sheet has the place of the chat, and its neighbors. */
import { computed, signal } from '@preact/signals'
import type { GitChange, GitChanges } from '../workspace/git-changes.ts'
import {
  keyOf,
  type TurnChange,
  type TurnChanges,
  type TurnFile,
} from '../workspace/turn-changes.ts'

export type ReviewItem =
  | { key: string; path: string; change: GitChange }
  | { key: string; path: string; turn: TurnChange; file: TurnFile }

export class Review {
  readonly #changes: GitChanges
  readonly #turns: TurnChanges
  readonly #key = signal('')
  /** In the order of the list: uncommitted files, then those of opened turns. */
  readonly items = computed((): readonly ReviewItem[] => {
    const { staged, unstaged } = this.#changes.lines.value
    const open = this.#turns.list.value.filter(({ checkpoint }) =>
      this.#turns.openTurns.value.has(checkpoint),
    )
    return [
      ...[...staged, ...unstaged].map(change => ({ key: change.key, path: change.path, change })),
      ...open.flatMap(turn =>
        turn.files.map(file => ({ key: keyOf(turn, file), path: file.path, turn, file })),
      ),
    ]
  })
  /** A file that was staged meanwhile stays chosen: it is the same file in another list. */
  readonly current = computed((): ReviewItem | null => {
    const items = this.items.value
    const path = this.#key.value.slice(this.#key.value.indexOf(':') + 1)
    return (
      items.find(({ key }) => key === this.#key.value) ??
      items.find(item => 'change' in item && item.path === path) ??
      items[0] ??
      null
    )
  })

  constructor(changes: GitChanges, turns: TurnChanges) {
    this.#changes = changes
    this.#turns = turns
  }

  choose(key: string): void {
    this.#key.value = key
  }

  step(by: 1 | -1): void {
    const { value: items } = this.items
    const at = items.findIndex(({ key }) => key === this.current.value?.key) + by
    const next = items[(at + items.length) % items.length]
    if (next) this.choose(next.key)
  }

  /** Loads the diff of what is shown. */
  load(): void {
    const item = this.current.peek()
    if (!item) return
    if ('change' in item) this.#changes.show(item.change)
    else if (!this.#turns.diffs.peek().has(item.key))
      void this.#turns.toggleFile(item.turn, item.file)
  }
}
