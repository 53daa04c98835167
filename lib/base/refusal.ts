/** The error of a call that does not run because someone decided so. */
import type { RefusedBy } from '../schema/refused-by.ts'

/** The message is for the model. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly by: RefusedBy

  constructor(by: RefusedBy, message: string) {
    super(message)
    this.by = by
  }
}
