/** Shows a stored session to a client: its messages as `session/update` notifications, in order. */
import type { PathScope } from '../../agent/types.ts'
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { messageText } from '../../agent/tokens.ts'
import { parseArguments } from '../../agent/tool-calls.ts'
import type { Message } from '../../schema/message.ts'
import { redact, redactValue } from '../../base/redact/redact.ts'
import {
  codeContent,
  kindOf,
  locationsOf,
  pastEdit,
  readResult,
  callTitle,
} from './tool-updates.ts'

/** The argument that describes a call best. */
const previewOf = (args: Readonly<Record<string, unknown>>): string | null => {
  const value = args.command ?? args.path ?? args.query ?? Object.values(args)[0]
  return typeof value === 'string' ? (value.split('\n')[0] ?? null) : null
}

const chunk = (
  sessionUpdate: 'user_message_chunk' | 'agent_message_chunk' | 'agent_thought_chunk',
  messageId: string,
  text: string,
): SessionUpdate[] =>
  text === '' ? [] : [{ sessionUpdate, messageId, content: { type: 'text', text: redact(text) } }]

const callUpdates = (message: Message, place: PathScope): SessionUpdate[] =>
  (message.tool_calls ?? []).map(({ id, function: { name, arguments: text } }): SessionUpdate => {
    const args = parseArguments(text) ?? {}
    return {
      sessionUpdate: 'tool_call',
      toolCallId: id,
      title: callTitle(name, previewOf(args)),
      name,
      kind: kindOf(name),
      status: 'pending',
      rawInput: redactValue(args),
      locations: locationsOf(name, args, place),
      content: pastEdit(name, args, place),
    }
  })

const resultUpdate = (toolCallId: string, content: string, isEdit: boolean): SessionUpdate => {
  const { raw, text, isError } = readResult(redact(content))
  return {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    status: isError ? 'failed' : 'completed',
    // A done edit shows its difference.
    ...((isError || !isEdit) && { content: codeContent(text) }),
    rawOutput: raw,
  }
}

export const replay = (messages: readonly Message[], place: PathScope): SessionUpdate[] => {
  const edits = new Set(
    messages.flatMap(({ tool_calls: calls = [] }) =>
      calls.filter(call => kindOf(call.function.name) === 'edit').map(({ id }) => id),
    ),
  )
  const answered = new Set(messages.flatMap(({ tool_call_id: id }) => id ?? []))
  return messages.flatMap((message): SessionUpdate[] => {
    const { id, role, tool_call_id: callId } = message
    if (role === 'user') return chunk('user_message_chunk', id, messageText(message))
    if (role === 'tool')
      return callId === undefined
        ? []
        : [resultUpdate(callId, messageText(message), edits.has(callId))]
    if (role !== 'assistant') return []
    const unanswered = (message.tool_calls ?? []).filter(call => !answered.has(call.id))
    return [
      ...chunk('agent_thought_chunk', id, message.reasoning ?? ''),
      ...chunk('agent_message_chunk', id, messageText(message)),
      ...callUpdates(message, place),
      ...unanswered.map(
        (call): SessionUpdate => ({
          sessionUpdate: 'tool_call_update',
          toolCallId: call.id,
          status: 'failed',
        }),
      ),
    ]
  })
}
