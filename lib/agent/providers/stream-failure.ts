/** Error objects inside a response with status 200, classified like error responses with a status. */
import { asArray, asCount, asObject, asString, type JsonObject } from '../../base/json.ts'
import { errorFieldsIn } from '../error-fields.ts'
import { classify, type ProviderFailure, statusOfErrorNames } from '../failure.ts'
import { errorMessageIn } from './http-post.ts'

export const streamFailure = (error: unknown): ProviderFailure => {
  const { code, status } = asObject(error)
  const number = Number(code ?? status)
  const json = JSON.stringify(error)
  const fields = errorFieldsIn(error)
  const message = errorMessageIn(json)
  return classify({
    status:
      Number.isInteger(number) && number >= 400 && number < 600
        ? number
        : statusOfErrorNames(fields.codes),
    message: message === '' ? 'The provider reports an error.' : message,
    text: json,
    fields,
  })
}

/**
 * Throws the error in an event or document, in any of the shapes that servers use. Sources: the OpenAI and Anthropic APIs
 * (`error`), vLLM (`object: "error"`), FastAPI servers (`detail`), GraphQL-like gateways (`errors`), Groq (`x_groq`), z.ai
 * (`success: false`), DashScope (`code` and `message` alone), MiniMax (`base_resp`).
 */
export const throwErrorIn = (event: JsonObject): void => {
  const groq = asObject(event.x_groq).error
  if (event.error || groq) throw streamFailure(event.error || groq)
  if (event.type === 'error' || event.object === 'error') throw streamFailure(event)
  if (event.choices === undefined) throwUnframed(event)
  const { status_code: code, status_msg: message } = asObject(event.base_resp)
  if (asCount(code) > 0)
    throw classify({
      message: asString(message) || `Error ${code}`,
      fields: { codes: [`base_resp.${code}`], param: undefined },
    })
}

/** Errors that are only told from an answer by what they lack. */
const throwUnframed = (event: JsonObject): void => {
  const { type, code, message, msg, detail, errors, success } = event
  if (asString(detail) !== '') throw streamFailure(detail)
  const isNamed = type === undefined && code !== undefined && asString(message || msg) !== ''
  if (asArray(errors).length > 0 || success === false || isNamed) throw streamFailure(event)
}
