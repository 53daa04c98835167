/** A request of a program in one form, whichever API it was written for, and what it gets back. */
import type { Tool } from '../agent/types.ts'
import type { Effort } from '../base/efforts.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { Usage } from '../schema/usage.ts'
import type { RequestedFormat } from './answer-format.ts'

/** `data` is base64; `param` is its place in the request. */
export type ApiPart =
  | { type: 'text'; text: string }
  | { type: 'image'; url: string }
  | { type: 'pdf'; data: string; name: string; param: string }

/** `arguments` is JSON text. */
export type ApiCall = { id: string; name: string; arguments: string }

export type ApiMessage =
  | { role: 'user'; parts: ApiPart[] }
  | { role: 'assistant'; text: string; calls: ApiCall[] }
  /** What a function of the client returned. */
  | { role: 'result'; callId: string; parts: ApiPart[] }

export type ApiRequest = {
  model: string
  /** System and developer messages. */
  instructions: string
  /** Without those. */
  messages: ApiMessage[]
  /** Functions of the client. */
  functions: readonly Tool[]
  oneCall: boolean
  /** The answer must be a call of one of them. */
  mustCall: boolean
  /** The form of the answer; null: text. */
  format: RequestedFormat | null
  /** Paths of what this server cannot provide, and the answer does without. */
  ignored: readonly string[]
  effort?: Effort | undefined
  stream: boolean
  /** The client's name for the conversation; null: found by its history. */
  conversation: string | null
  /** The response that this request continues. */
  previous: string | null
}

/** The finished turn. `text` is everything that was streamed. */
export type ApiResult = {
  sessionId: string
  text: string
  /** The text of the last message. */
  lastText: string
  refusal: string
  /** The text ends at the model's length limit, or where its connection ended. */
  isCut: boolean
  /** Functions that the client has to run before the answer is complete. */
  calls: ApiCall[]
  usage: Usage
}

export type ApiFailure = {
  type: FailureType | 'cancelled' | 'invalid_answer' | 'tool_not_called'
  message: string
}

/** The last event is `done` or `failed`. */
export type ApiEvent =
  | { type: 'text'; text: string }
  | { type: 'done'; result: ApiResult }
  | { type: 'failed'; failure: ApiFailure }
