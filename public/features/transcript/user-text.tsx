/** The text of a user message, with links to the chats and skills that were chosen after `@`. */
import type { ComponentChildren } from 'preact'
import { useShell } from '../../contexts.ts'

/** Written by `mentionText` of the composer. */
const MENTION = /\[([^[\]\n]{1,300})\]\((chat|skill):([^()\n]{1,128})\)/g

export const UserText = ({ text }: { text: string }) => {
  const { route } = useShell()
  const parts: ComponentChildren[] = []
  let at = 0
  for (const match of text.matchAll(MENTION)) {
    const [whole, name, kind, id] = match as unknown as [string, string, string, string]
    const to =
      kind === 'chat'
        ? ({ view: 'chat', sessionId: id } as const)
        : ({ view: 'skills', skill: id, query: '' } as const)
    parts.push(
      text.slice(at, match.index),
      <a key={match.index} class="ref" href={route.hrefOf(to)}>
        {name}
      </a>,
    )
    at = match.index + whole.length
  }
  return (
    <>
      {parts}
      {text.slice(at)}
    </>
  )
}
