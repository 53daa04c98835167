/** An error that a provider speaks inside its answer, sorted like one that comes with a status. */
import { asObject } from '../../base/json.ts'
import { classify, type ProviderFailure, statusOfErrorName } from '../failure.ts'
import { errorMessageIn } from './http-post.ts'

export const streamFailure = (error: unknown): ProviderFailure => {
  const { code, status, type } = asObject(error)
  const number = Number(code ?? status)
  const named = statusOfErrorName(String(code ?? '')) ?? statusOfErrorName(String(type ?? ''))
  const written = JSON.stringify(error)
  const said = errorMessageIn(written)
  return classify({
    status: Number.isInteger(number) && number >= 400 && number < 600 ? number : named,
    message: said === '' ? 'The provider reports an error.' : said,
    text: written,
  })
}
