/** The text of a user message, with links to the chats and skills that were chosen after `@`. */
import type { ComponentChildren } from 'preact'
import { useShell } from '../../contexts.ts'

/** Written by `mentionText` of the composer. */
const MENTION = /\[([^[\]\n]{1,300})\]\((chat|skill):([^()\n]{1,128})\)/g

const Mention = ({ kind, id, name }: { kind: string; id: string; name: string }) => {
  const { route } = useShell()
  const to =
    kind === 'chat'
      ? ({ view: 'chat', sessionId: id } as const)
      : ({ view: 'skills', skill: id, query: '' } as const)
  return (
    <a class="ref" href={route.hrefOf(to)}>
      {name}
    </a>
  )
}

export const UserText = ({ text }: { text: string }) => {
  const parts: ComponentChildren[] = []
  let at = 0
  for (const match of text.matchAll(MENTION)) {
    const [whole, name, kind, id] = match as unknown as [string, string, string, string]
    parts.push(
      text.slice(at, match.index),
      <Mention key={match.index} kind={kind} id={id} name={name} />,
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
