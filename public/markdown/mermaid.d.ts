/** build/mermaid.tgz has no types: the published ones need those of a dozen other packages. */
declare module 'mermaid' {
  const mermaid: {
    initialize(config: object): void
    render(id: string, text: string, measured: Element): Promise<{ svg: string }>
  }
  export default mermaid
}
