/** Work that is not done twice at a time: calls that come while it runs share the one after it. */
export class SharedRuns {
  readonly #work: () => Promise<void>
  #running: Promise<void> | null = null
  #next: Promise<void> | null = null

  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    if (!this.#running) {
      this.#running = this.#work().finally(() => {
        this.#running = null
      })
      return this.#running
    }
    this.#next ??= this.#running.then(() => {
      this.#next = null
      return this.run()
    })
    return this.#next
  }
}
