/**
 * The tree of a conversation as turns: a message of the person with one chain of answers. Where the tree branches, there are
 * versions of the next message, as in a chat that was edited here; another answer to a message repeats the message.
 */
import type { Conversation, ConversationNode } from './conversation.ts'

/** Each way through answers repeats what is before it. More than this is no conversation, and would not fit into memory. */
const MAX_CHARS = 256 * 1024 * 1024
/** As which a message counts, beside its text. */
const MESSAGE_CHARS = 1_000

const charsOf = ({ blocks }: ConversationNode): number =>
  blocks.reduce((sum, block) => sum + ('text' in block ? block.text.length : 0), MESSAGE_CHARS)

export type Turn = {
  user: ConversationNode | null
  answers: readonly ConversationNode[]
  /** Versions of the next message; the one that was shown is the last. */
  next: Turn[]
}

/** The first turns of each chat: usually one chat, more when answers without a question before them differ. */
export const turnsOf = ({ nodes, current }: Conversation): Turn[][] => {
  const children = childrenOf(nodes)
  const wasShown = pathTo(nodes, current)
  let chars = 0
  const take = (node: ConversationNode) => {
    chars += charsOf(node)
    if (chars > MAX_CHARS) throw new Error('more versions than fit into memory')
  }
  const begin = (user: ConversationNode | null) =>
    chainsFrom(user, children, take).map(({ answers, users }) => {
      const turn: Turn = { user, answers, next: [] }
      return { turn, users }
    })
  const starts = begin(null)
  const open = [...starts]
  for (let step = open.pop(); step; step = open.pop()) {
    const following = step.users.flatMap(begin)
    step.turn.next = shownLast(
      following.map(({ turn }) => turn),
      wasShown,
    )
    open.push(...following)
  }
  return starts
    .map(({ turn }) => (turn.answers.length === 0 ? turn.next : [turn]))
    .filter(turns => turns.length > 0)
    .toSorted((a, b) => shownIn(b.at(-1)!, wasShown) - shownIn(a.at(-1)!, wasShown))
}

type Children = ReadonlyMap<string | null, readonly ConversationNode[]>

/** The nodes with content, each below the nearest one above it; null: at the beginning. */
const childrenOf = (nodes: readonly ConversationNode[]): Children => {
  const byId = new Map(nodes.map(node => [node.id, node]))
  const children = new Map<string | null, ConversationNode[]>([[null, []]])
  /** Of nodes that were looked at: the nearest one above them with content. */
  const above = new Map<string, string | null>()
  const visible = [...byId.values()].filter(({ role }) => role !== null)
  for (const node of visible) {
    let parent = node.parent
    const seen = new Set([node.id])
    while (parent !== null && !seen.has(parent) && (byId.get(parent)?.role ?? null) === null) {
      seen.add(parent)
      parent = (above.has(parent) ? above.get(parent) : byId.get(parent)?.parent) ?? null
    }
    for (const id of seen) above.set(id, parent)
    const siblings = children.get(parent)
    if (siblings) siblings.push(node)
    else children.set(parent, [node])
  }
  // Parents that form a ring lead to no beginning: the first of them becomes one.
  const reached = new Set<string>()
  const reach = (from: readonly ConversationNode[]) => {
    const open = [...from]
    for (let node = open.pop(); node; node = open.pop()) {
      if (reached.has(node.id)) continue
      reached.add(node.id)
      for (const child of children.get(node.id) ?? []) open.push(child)
    }
  }
  reach(children.get(null)!)
  if (reached.size < visible.length)
    for (const node of visible) {
      if (reached.has(node.id)) continue
      const siblings = children.get(above.get(node.id) ?? null)!
      siblings.splice(siblings.indexOf(node), 1)
      children.get(null)!.push(node)
      reach([node])
    }
  return children
}

/** The ids of this node and those above it. */
const pathTo = (nodes: readonly ConversationNode[], id: string | null): ReadonlySet<string> => {
  const parents = new Map(nodes.map(node => [node.id, node.parent]))
  const path = new Set<string>()
  for (let at = id; at !== null && !path.has(at); at = parents.get(at) ?? null) path.add(at)
  return path
}

/** The ways through answers, each up to where the person wrote again or nothing follows. */
const chainsFrom = (
  user: ConversationNode | null,
  children: Children,
  take: (node: ConversationNode) => void,
) => {
  const repeat = (answers: readonly ConversationNode[]): ConversationNode[] => {
    if (user) take(user)
    for (const node of answers) take(node)
    return [...answers]
  }
  const chains: { answers: ConversationNode[]; users: readonly ConversationNode[] }[] = []
  const open = [{ id: user?.id ?? null, answers: [] as ConversationNode[] }]
  for (let way = open.pop(); way; way = open.pop()) {
    const { answers } = way
    for (let at: string | null | undefined = way.id; at !== undefined; ) {
      const below: readonly ConversationNode[] = children.get(at) ?? []
      const users = below.filter(({ role }) => role === 'user')
      const [first, ...others] = below.filter(({ role }) => role !== 'user')
      if (users.length > 0 || !first) chains.push({ answers: repeat(answers), users })
      for (const other of others.toReversed())
        open.push({ id: other.id, answers: [...repeat(answers), other] })
      if (first) answers.push(first)
      at = first?.id
    }
  }
  return chains
}

const shownIn = ({ user, answers }: Turn, wasShown: ReadonlySet<string>): number =>
  [...(user ? [user] : []), ...answers].filter(node => wasShown.has(node.id)).length

/** In their order, except that the one that was shown is the last. */
const shownLast = (turns: readonly Turn[], wasShown: ReadonlySet<string>): Turn[] => {
  const counts = turns.map(turn => shownIn(turn, wasShown))
  const at = counts.lastIndexOf(Math.max(0, ...counts))
  return turns.toSpliced(at, 1).concat(turns.slice(at, at + 1))
}
