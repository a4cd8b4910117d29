# What lavaan says of ordered columns: thresholds, polychoric and polyserial correlations, and paths (parameterization
# theta, WLSMV). Run in this folder: Rscript make.R > lavaan.json
suppressMessages(library(lavaan))
number <- function(x) ifelse(is.na(x), "null", format(x, digits = 12, nsmall = 1))
field <- function(name, value) paste0('"', name, '": ', value)
table_of <- function(fit) {
  p <- parameterEstimates(fit)
  lines <- paste0('["', p$lhs, '", "', p$op, '", "', p$rhs, '", ', number(p$est), ', ', number(p$se), ']')
  paste0("[", paste(lines, collapse = ",\n    "), "]")
}
correlations <- function(data, ordered) {
  R <- unclass(lavCor(data, ordered = ordered))
  names <- colnames(R)
  lines <- c()
  for (i in seq_along(names)) for (j in seq_along(names)) if (i < j)
    lines <- c(lines, paste0('["', names[i], '", "', names[j], '", ', number(R[i, j]), ']'))
  paste0("[", paste(lines, collapse = ",\n    "), "]")
}
MEASURES <- c("chisq", "df", "pvalue", "chisq.scaled", "pvalue.scaled", "baseline.chisq", "baseline.df",
  "baseline.chisq.scaled", "cfi", "tli", "cfi.scaled", "tli.scaled", "rmsea", "rmsea.scaled", "rmsea.ci.lower.scaled",
  "rmsea.ci.upper.scaled", "srmr")
measures <- function(fit) paste0("{", paste0('"', MEASURES, '": ', number(unclass(fitMeasures(fit, MEASURES))),
  collapse = ",\n    "), "}")
case <- function(name, ordered, model, file = name) {
  data <- read.csv(paste0(file, ".csv"))
  fit <- sem(model, data = data, ordered = ordered, parameterization = "theta", conditional.x = FALSE, fixed.x = FALSE)
  paste0('"', name, '": {', field("correlations", correlations(data, ordered)), ",\n  ",
         field("parameters", table_of(fit)), ",\n  ",
         field("measures", measures(fit)), "}")
}
cases <- c(
  case("items", paste0("q", 1:4), "q1 ~~ q2 + q3 + q4\n q2 ~~ q3 + q4\n q3 ~~ q4"),
  case("front_door", c("m", "y"), "m ~ x\n y ~ m\n x ~~ y"),
  case("mediation", c("a", "c"), "a ~ t\n b ~ t + a\n c ~ t + a + b"),
  case("chain", c("a", "c"), "a ~ t\n b ~ a\n c ~ b", "mediation")
)
cat("{", field("lavaan", paste0('"', packageVersion("lavaan"), '"')), ",\n", paste(cases, collapse = ",\n"), "}\n", sep = "")
