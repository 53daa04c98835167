/** The three levels of the context ring. */
export const levelOf = (percent: number): 'low' | 'middle' | 'high' =>
  percent < 50 ? 'low' : percent <= 75 ? 'middle' : 'high'
