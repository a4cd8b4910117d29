# The numbers in fiml_by_month.json: Rscript fiml_by_month.R s21_fiml_airquality.csv > fiml_by_month.json
# One model by month with missing values (full information), and one covariance structure for all months.
library(lavaan)
air <- read.csv(commandArgs(TRUE)[1])
free <- "
Temp ~ Solar
Ozone ~ Solar + Temp + Wind
Temp ~~ Wind
Solar ~~ 0*Wind
Solar ~~ Solar
Wind ~~ Wind
Solar ~ 1
Wind ~ 1
"
same <- function(label) paste0("c(", paste(rep(label, 5), collapse = ","), ")*")
equal <- paste0("
Temp ~ ", same("a"), "Solar
Ozone ~ ", same("b"), "Solar + ", same("c"), "Temp + ", same("d"), "Wind
Temp ~~ ", same("e"), "Wind
Solar ~~ 0*Wind
Solar ~~ ", same("f"), "Solar
Wind ~~ ", same("g"), "Wind
Temp ~~ ", same("h"), "Temp
Ozone ~~ ", same("i"), "Ozone
Solar ~ 1
Wind ~ 1
")
given <- list(data = air, group = "Month", missing = "ml", fixed.x = FALSE, meanstructure = TRUE)
apart <- do.call("sem", c(list(model = free), given))
together <- do.call("sem", c(list(model = equal), given))
rows <- parameterEstimates(apart)
rows <- rows[rows$op == "~", ]
months <- lavInspect(apart, "group.label")
cat("{\n")
cat(sprintf(' "lavaan": "%s",\n', packageVersion("lavaan")))
cat(sprintf(' "loglik": %.6f,\n "loglik_equal": %.6f,\n', logLik(apart), logLik(together)))
cat(sprintf(' "df": %d,\n', fitMeasures(together)["df"] - fitMeasures(apart)["df"]))
cat(' "coefficients": [\n')
lines <- sprintf('  {"group": %s, "effect": "%s -> %s", "est": %.6f, "se": %.6f}',
                 months[rows$group], rows$rhs, rows$lhs, rows$est, rows$se)
cat(paste(lines, collapse = ",\n"))
cat("\n ]\n}\n")
