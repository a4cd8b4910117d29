# What lavaan says of factors behind ordered items (WLSMV, its default for them): two that covary, and one that causes
# the other. Run in this folder: Rscript factors.R > factors.json
suppressMessages(library(lavaan))
number <- function(x) ifelse(is.na(x), "null", format(x, digits = 12, nsmall = 1))
data <- read.csv("factors.csv")
measured <- "F =~ a0 + a1 + a2\nG =~ b0 + b1 + b2"
case <- function(name, model) {
  fit <- sem(model, data, ordered = names(data), std.lv = TRUE)
  p <- parameterEstimates(fit)
  p <- p[p$op != "~1" & p$op != "~*~", ]
  lines <- paste0('["', p$lhs, '", "', p$op, '", "', p$rhs, '", ', number(p$est), ", ", number(p$se), "]")
  found <- fitMeasures(fit, c("chisq", "chisq.scaled", "df"))
  paste0('"', name, '": {"parameters": [', paste(lines, collapse = ",\n    "), '],\n  "chisq": ', number(found[1]),
         ', "chisq_scaled": ', number(found[2]), ', "df": ', found[3], "}")
}
cases <- c(case("covary", measured), case("cause", paste0(measured, "\nG ~ F")))
cat('{"lavaan": "', as.character(packageVersion("lavaan")), '",\n', paste(cases, collapse = ",\n"), "}\n", sep = "")
